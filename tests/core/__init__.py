"""Tests of the language, the passes, the interpreter and the emitted code."""
