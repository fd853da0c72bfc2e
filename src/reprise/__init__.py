"""Reprise: nineteen ICLR 2025 papers, played again, one executable chapter each."""
