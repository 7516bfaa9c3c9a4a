"""HTTP headers, as requests and transcripts have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


class Headers(Mapping[str, str]):
    """HTTP headers; names have no case. Of a repeated one the first counts, `all()` has each."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs = tuple(pairs)

    def __getitem__(self, name: str) -> str:
        for value in self.all(name):
            return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self.pairs))

    def __len__(self) -> int:
        return len(dict(self.pairs))

    def __repr__(self) -> str:
        return f"Headers({list(self.pairs)!r})"

    def all(self, name: str) -> list[str]:
        """Every value of one header, in the order sent."""
        return [value for key, value in self.pairs if key.lower() == name.lower()]
