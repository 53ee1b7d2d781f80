"""One function per theorem of the papers: bounds, coherence, rates, recovery diagnostics."""
