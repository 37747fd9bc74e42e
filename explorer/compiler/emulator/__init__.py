"""AMD machine code executed on the processor: what a kernel does on a GPU that is not here."""
