"""Errors about arguments, made where the name of the argument is not known yet."""

from __future__ import annotations


class _Unnamed(Exception):
    """The extension adds the name of the argument as a note, "while processing 'name'": it becomes part of the message."""

    named = False

    def add_note(self, note: str) -> None:
        """Take the name of the argument; further notes are notes."""
        name = note.removeprefix("while processing '").removesuffix("'")
        if self.named or name == note:
            getattr(super(), "add_note", lambda _: None)(note)
            return
        self.named = True
        self.args = (f"{name}: {self.args[0]}",)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Pickles hold the plain error."""
        return type(self).__mro__[2], self.args


def unnamed(is_value: bool, text: str) -> Exception:
    """Return a ValueError or a TypeError that takes the name of its argument as a note."""
    kind = ValueError if is_value else TypeError
    # Tracebacks show the plain name.
    return type(kind.__name__, (_Unnamed, kind), {"__module__": "builtins"})(text)
