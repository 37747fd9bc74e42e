"""The functions that a kernel is written with, by purpose; ``explorer.wave`` offers them all."""
