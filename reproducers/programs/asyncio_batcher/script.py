"""An asyncio service that batches requests and runs a compiled model in a thread."""

import asyncio
import random

import torch
import torch._inductor.config as inductor_config

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "runtime_error"


class Batcher:
    def __init__(self, model, limit=4):
        self.model, self.limit, self.queue = model, limit, asyncio.Queue()

    async def ask(self, vector):
        future = asyncio.get_running_loop().create_future()
        await self.queue.put((vector, future))
        return await future

    async def serve(self):
        while True:
            pairs = [await self.queue.get()]
            while not self.queue.empty() and len(pairs) < self.limit:
                pairs.append(self.queue.get_nowait())
            batch = torch.stack([vector for vector, _ in pairs])
            try:
                answers = await asyncio.to_thread(self.model, batch)
            except Exception as error:
                for _, future in pairs:
                    future.set_exception(error)
                continue
            for answer, (_, future) in zip(answers, pairs):
                future.set_result(answer)


async def main():
    random.seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).requires_grad_(False)
    batcher = Batcher(torch.compile(layers))
    serving = asyncio.create_task(batcher.serve())
    answers = await asyncio.gather(*(batcher.ask(torch.randn(8)) for _ in range(6)))
    serving.cancel()
    print(torch.stack(answers).shape)


asyncio.run(main())
