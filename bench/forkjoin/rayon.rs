//! rayon: tasks of one scope. They run to completion, and are waited for together. forkjoin.hpp says what is measured.
use bench::{demand, in_workers, median_cycles, Arguments, Record};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static BODIES: AtomicU64 = AtomicU64::new(0);
static COUNTING: AtomicBool = AtomicBool::new(false);

fn round(n: usize) {
    rayon::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|_| {
                if COUNTING.load(Relaxed) {
                    BODIES.fetch_add(1, Relaxed);
                }
            });
        }
    });
}

fn main() {
    let mut options = Arguments::read();
    let only = options.whole("n", 0, 0, 1 << 20);
    let deviation = options.whole("d", 0, 0, 100);
    let reverse = options.whole("reverse", 0, 0, 1);
    let seconds = options.number("point-ms", 6.0, 0.0, 60000.0) / 1e3;
    let regions = options.whole("regions", 0, 0, 1_000_000_000);
    options.finish();
    demand(deviation == 0 && reverse == 0, "tasks neither yield nor are joined one by one");
    let sizes: Vec<usize> = if only > 0 { vec![only] } else { (0..=8).map(|power| 1 << (2 * power)).collect() };
    let mut result = Record::new("forkjoin");
    in_workers(1, || {
        if regions > 0 {
            return (0..regions.div_ceil(sizes[0])).for_each(|_| round(sizes[0]));
        }
        for &n in &sizes {
            BODIES.store(0, Relaxed);
            COUNTING.store(true, Relaxed);
            round(n);
            COUNTING.store(false, Relaxed);
            demand(BODIES.load(Relaxed) == n as u64, "not every task ran exactly once");
            result.number(&format!("n{n}-d0-forward"), median_cycles(|| round(n), seconds) / n as f64);
        }
    });
    result.print()
}
