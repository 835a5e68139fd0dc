//! rayon: four products are two pairs of pairs. matmul.hpp says what is multiplied.
use bench::{demand, tree_main, Arguments, Problem};

/// A square part of a matrix of `stride` columns. Its owner sees to it that products that run side by side write apart.
#[derive(Clone, Copy)]
struct Square {
    at: *mut f64,
    stride: usize,
}

// SAFETY: the products of one round write four different quarters, and only read what none of them writes.
unsafe impl Send for Square {}
unsafe impl Sync for Square {}

impl Square {
    fn quarter(self, half: usize, row: usize, column: usize) -> Square {
        // SAFETY: a quarter lies inside its square.
        Square { at: unsafe { self.at.add(row * half * self.stride + column * half) }, stride: self.stride }
    }
}

fn multiply_leaf(a: Square, b: Square, c: Square, n: usize) {
    for i in 0..n {
        for k in 0..n {
            // SAFETY: all three squares have n rows and columns; c overlaps neither a nor b.
            unsafe {
                let factor = *a.at.add(i * a.stride + k);
                let row = std::slice::from_raw_parts(b.at.add(k * b.stride), n);
                let into = std::slice::from_raw_parts_mut(c.at.add(i * c.stride), n);
                into.iter_mut().zip(row).for_each(|(to, from)| *to += factor * from);
            }
        }
    }
}

fn multiply(a: Square, b: Square, c: Square, n: usize) {
    if n <= 16 {
        return multiply_leaf(a, b, c, n);
    }
    let half = n / 2;
    for round in 0..2 {
        let part = |row: usize, column: usize| {
            multiply(a.quarter(half, row, round), b.quarter(half, round, column), c.quarter(half, row, column), half)
        };
        rayon::join(|| rayon::join(|| part(0, 0), || part(0, 1)), || rayon::join(|| part(1, 0), || part(1, 1)));
    }
}

struct Matrices {
    n: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

fn times(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    matrix.chunks(vector.len()).map(|row| row.iter().zip(vector).map(|(x, y)| x * y).sum()).collect()
}

impl Matrices {
    fn new(n: usize) -> Self {
        let a = (0..n * n).map(|i| (i % 7) as f64 - 3.0).collect();
        let b = (0..n * n).map(|i| (i % 11) as f64 - 5.0).collect();
        Matrices { n, a, b, c: vec![0.0; n * n] }
    }
}

impl Problem for Matrices {
    const NAME: &'static str = "matmul";
    fn read(options: &mut Arguments) -> Self {
        Matrices::new(1 << options.whole("log2-n", 9, 1, 12))
    }
    fn smaller(&self) -> Self {
        Matrices::new(if self.n > 64 { self.n / 4 } else { self.n })
    }
    fn prepare(&mut self) {
        self.c.fill(0.0)
    }
    fn solve(&mut self) {
        let n = self.n;
        let square = |matrix: &mut Vec<f64>| Square { at: matrix.as_mut_ptr(), stride: n };
        multiply(square(&mut self.a), square(&mut self.b), square(&mut self.c), n)
    }
    fn check(&self) {
        let x: Vec<f64> = (0..self.n).map(|i| if (i * i + 3 * i) % 5 < 2 { 1.0 } else { -1.0 }).collect();
        demand(times(&self.c, &x) == times(&self.a, &times(&self.b, &x)), "wrong product")
    }
}

fn main() {
    tree_main::<Matrices>()
}
