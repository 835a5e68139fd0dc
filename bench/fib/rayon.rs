//! rayon: one call is `join`ed with the other.
use bench::{demand, tree_main, Arguments, Problem};

struct Fib {
    n: usize,
    result: u64,
}

fn fib(n: usize) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let (one, other) = rayon::join(|| fib(n - 1), || fib(n - 2));
    one + other
}

impl Problem for Fib {
    const NAME: &'static str = "fib";
    fn read(options: &mut Arguments) -> Self {
        Fib { n: options.whole("n", 35, 0, 80), result: 0 }
    }
    fn smaller(&self) -> Self {
        Fib { n: if self.n > 8 { self.n - 8 } else { self.n }, result: 0 }
    }
    fn solve(&mut self) {
        self.result = fib(self.n)
    }
    fn check(&self) {
        let right = (0..self.n).fold((1, 0), |(before, value), _| (value, before + value)).1;
        demand(self.result == right, "wrong Fibonacci number")
    }
}

fn main() {
    tree_main::<Fib>()
}
