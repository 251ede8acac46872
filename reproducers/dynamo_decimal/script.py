"""Bill compute by the token: prices are Decimals, the rest is tensors."""

from decimal import Decimal

import torch

PRICE_PER_TOKEN = Decimal("0.0025")


def bill(tokens: torch.Tensor) -> torch.Tensor:
    return tokens.sum(dim=-1) * float(PRICE_PER_TOKEN)


usage = torch.tensor([[120.0, 30.0], [7.0, 900.0]])
print("by hand ", bill(usage))
print("compiled", torch.compile(bill)(usage))
