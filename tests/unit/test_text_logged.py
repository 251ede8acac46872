"""A logger gives way to `print`, and so does what is shown beside a progress bar, or written into a file."""

from __future__ import annotations

import pytest
from text_helpers import results

from triage.reduce.text.passes import logged


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log.info('loss %.3f after %d', loss, n)\n", ["print('loss %.3f after %d' % (loss, n))\n"]),
        ("log.info('loss %.3f', loss)\n", ["print('loss %.3f' % (loss,))\n"]),
        ("self.logger.warning(f'loss {loss:.3f}')\n", ["print(f'loss {loss:.3f}')\n"]),
        ("logging.error(loss, exc_info=True)\n", ["print(loss)\n"]),
        ("bar.set_postfix(loss=loss.item(), n=3, refresh=False)\n", ["print(loss.item(), 3)\n"]),
        ("bar.set_postfix({'loss': loss})\nbar.update()\n", ["print(loss)\nbar.update()\n"]),
        ("bar.set_postfix(state)\n", []),
        ("bar.set_description(f'loss {loss}', True)\n", ["print(f'loss {loss}')\n"]),
        ("file.write(f'{n},{loss:.3f}\\n')\n", ["print(f'{n},{loss:.3f}\\n')\n"]),
        ("rows.writerow([n, loss])\n", ["print([n, loss])\n"]),
        ("json.dump({'loss': loss}, file)\n", ["print({'loss': loss})\n"]),
        ("np.savetxt('losses.txt', losses)\nnp.savetxt(path)\n", ["print(losses)\nnp.savetxt(path)\n"]),
        ("print(n, loss, file=log)\n", ["print(n, loss)\n"]),
        ("print(n, loss, flush=True)\nfile.write()\n", []),
        ("found = log.info('loss')\nlog.info()\nlog.setLevel(3)\n", []),
    ],
)
def test_what_is_logged_or_written_is_printed(text: str, expected: list[str]) -> None:
    assert results(text, logged.propose) == expected
