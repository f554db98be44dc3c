"""One conversation as the window knows it: questions, and for each every answer that was given."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.lane import Lane
from app.trouble import Trouble
from engine.chat.messages import ChatMessage, Role


@dataclass(slots=True)
class Answer:
    """`job` made it; `trouble` says why it is cut off, `ended` that no more comes."""

    speculative: bool
    job: int = 0
    lane: Lane = field(default_factory=Lane)
    n_prompt_tokens: int = 0
    ended: bool = False
    trouble: Trouble | None = None

    @property
    def text(self) -> str:
        return self.lane.text


@dataclass(slots=True)
class Turn:
    """A question and its answers, oldest first; answering again never loses an earlier one. `shown` is an
    index.
    """

    question: str
    answers: list[Answer] = field(default_factory=list)
    shown: int = -1

    @property
    def answer(self) -> Answer | None:
        return self.answers[self.shown] if self.answers else None

    @property
    def newest(self) -> Answer | None:
        """Return the answer that is, or was last, being written, whichever is shown."""
        return self.answers[-1] if self.answers else None

    def add(self, answer: Answer) -> None:
        self.answers.append(answer)
        self.shown = len(self.answers) - 1


@dataclass(slots=True)
class Conversation:
    turns: list[Turn] = field(default_factory=list)

    def messages(self, until: Turn) -> tuple[ChatMessage, ...]:
        """Return what the model sees to answer `until`: everything before it as shown, and its question."""
        said: list[ChatMessage] = []
        for turn in self.turns:
            said.append(ChatMessage(Role.USER, turn.question))
            if turn is until:
                break
            if turn.answer is not None and turn.answer.text:
                said.append(ChatMessage(Role.ASSISTANT, turn.answer.text))
        return tuple(said)
