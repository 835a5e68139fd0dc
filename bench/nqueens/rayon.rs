//! rayon: the safe squares are halved by `join` until one is left.
use bench::{demand, tree_main, Arguments, Problem};

#[derive(Clone, Copy, Default)]
struct Board {
    columns: u32,
    left: u32,
    right: u32,
}

impl Board {
    fn free(self, all: u32) -> u32 {
        all & !(self.columns | self.left | self.right)
    }
    fn with(self, square: u32) -> Board {
        Board { columns: self.columns | square, left: (self.left | square) << 1, right: (self.right | square) >> 1 }
    }
}

fn try_squares(rows: Board, all: u32, squares: u32) -> u64 {
    if squares.count_ones() == 1 {
        return count(rows.with(squares), all);
    }
    let mut low = 0;
    for _ in 0..squares.count_ones() / 2 {
        let rest = squares & !low;
        low |= rest & rest.wrapping_neg();
    }
    let (one, other) = rayon::join(|| try_squares(rows, all, low), || try_squares(rows, all, squares & !low));
    one + other
}

fn count(rows: Board, all: u32) -> u64 {
    match rows.free(all) {
        0 => (rows.columns == all) as u64,
        free => try_squares(rows, all, free),
    }
}

const SOLUTIONS: [u64; 17] =
    [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512];

struct Queens {
    n: usize,
    result: u64,
}

impl Problem for Queens {
    const NAME: &'static str = "nqueens";
    fn read(options: &mut Arguments) -> Self {
        Queens { n: options.whole("n", 13, 1, 16), result: 0 }
    }
    fn smaller(&self) -> Self {
        Queens { n: if self.n > 3 { self.n - 3 } else { self.n }, result: 0 }
    }
    fn solve(&mut self) {
        self.result = count(Board::default(), (1 << self.n) - 1)
    }
    fn check(&self) {
        demand(self.result == SOLUTIONS[self.n], "wrong number of solutions")
    }
}

fn main() {
    tree_main::<Queens>()
}
