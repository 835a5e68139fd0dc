"""Makes demo/data_science/study importable."""
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
FOLDER = REPOSITORY / "demo" / "data_science"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent), str(REPOSITORY / "bench")]
