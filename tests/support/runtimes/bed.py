"""A test bed: one real program with its hook and its model."""

from typing import NamedTuple

from support.runtimes.hook import RecordingHook
from support.runtimes.model import ScriptedModel
from support.runtimes.programs import Program


class Bed(NamedTuple):
    program: Program
    model: ScriptedModel
    hook: RecordingHook
