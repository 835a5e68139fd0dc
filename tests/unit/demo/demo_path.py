"""Makes demo/comparison importable."""
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(REPOSITORY / "demo"), str(REPOSITORY / "bench")]
