//! What the programs of rayon share: options, sampling and the one line of JSON, as ../../*.hpp has them for C++.

use std::time::Instant;

/// Options of the form `--name number`; an unknown name or a bad value ends the program with status 2.
pub struct Arguments {
    given: Vec<(String, String)>,
}

impl Arguments {
    pub fn read() -> Self {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let mut given = Vec::new();
        for pair in words.chunks(2) {
            match pair {
                [name, value] if name.starts_with("--") => given.push((name[2..].to_string(), value.clone())),
                _ => Self::fail(&pair[0], "expected --name value"),
            }
        }
        Arguments { given }
    }

    pub fn number(&mut self, name: &str, otherwise: f64, lowest: f64, highest: f64) -> f64 {
        let Some(place) = self.given.iter().position(|one| one.0 == name) else { return otherwise };
        match self.given.remove(place).1.parse::<f64>() {
            Ok(value) if value >= lowest && value <= highest => value,
            _ => Self::fail(name, "value out of range or not a number"),
        }
    }

    pub fn whole(&mut self, name: &str, otherwise: usize, lowest: usize, highest: usize) -> usize {
        self.number(name, otherwise as f64, lowest as f64, highest as f64) as usize
    }

    /// To be called when every option has been asked for.
    pub fn finish(self) {
        if let Some(unknown) = self.given.first() {
            Self::fail(&unknown.0, "unknown option")
        }
    }

    fn fail(what: &str, why: &str) -> ! {
        eprintln!("{what}: {why}");
        std::process::exit(2)
    }
}

pub fn demand(holds: bool, what: &str) {
    if !holds {
        eprintln!("benchmark refused: {what}");
        std::process::exit(1)
    }
}

/// The one line of JSON.
pub struct Record(String);

impl Record {
    pub fn new(workload: &str) -> Self {
        Record(format!("{{\"workload\":\"{workload}\",\"library\":\"rayon\""))
    }
    pub fn number(&mut self, key: &str, value: f64) {
        self.0 += &format!(",\"{key}\":{value}");
    }
    pub fn print(self) {
        println!("{},\"verified\":true}}", self.0)
    }
}

pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(|a, b| a.total_cmp(b));
    (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
}

/// The time stamp counter, or nanoseconds where there is none that can be read.
pub fn time_stamp() -> u64 {
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_lfence();
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

/// The median time of a call of `round`, in cycles; see bench/support/sampling.hpp.
pub fn median_cycles(mut round: impl FnMut(), seconds: f64) -> f64 {
    let mut timed = |calls: u64| {
        let begin = time_stamp();
        (0..calls).for_each(|_| round());
        time_stamp() - begin
    };
    let mut calls = 1;
    while timed(calls) < 50_000 && calls < 1 << 24 {
        calls *= 2;
    }
    let (begin, mut samples) = (Instant::now(), Vec::new());
    while samples.len() < 3 || begin.elapsed().as_secs_f64() < seconds {
        samples.push(timed(calls) as f64 / calls as f64);
    }
    median(&mut samples)
}

/// Runs f in a pool of `workers` threads.
pub fn in_workers(workers: usize, f: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(workers).build().expect("no pool").install(f)
}

/// A problem solved by recursion; see bench/support/tree.hpp.
pub trait Problem: Send {
    const NAME: &'static str;
    fn read(options: &mut Arguments) -> Self;
    fn smaller(&self) -> Self;
    fn prepare(&mut self) {}
    fn solve(&mut self);
    fn check(&self);
}

fn solve_once<P: Problem>(problem: &mut P) -> f64 {
    problem.prepare();
    let begin = Instant::now();
    problem.solve();
    let taken = begin.elapsed().as_secs_f64();
    problem.check();
    taken
}

fn run_tree<P: Problem>(problem: &mut P, samples: usize, regions: usize, budget: f64, result: &mut Record) {
    for _ in 0..regions {
        solve_once(problem);
    }
    if regions > 0 {
        return;
    }
    solve_once(&mut problem.smaller());
    let (begin, mut taken) = (Instant::now(), vec![solve_once(problem)]);
    while taken.len() < samples && begin.elapsed().as_secs_f64() < budget {
        taken.push(solve_once(problem));
    }
    result.number("samples", taken.len() as f64);
    result.number("seconds_low", taken.iter().copied().fold(f64::MAX, f64::min));
    result.number("seconds", median(&mut taken));
}

/// The whole program.
pub fn tree_main<P: Problem>() {
    let mut options = Arguments::read();
    let mut problem = P::read(&mut options);
    let workers = options.whole("workers", 1, 1, 1024);
    let samples = options.whole("samples", 5, 1, 1000);
    let regions = options.whole("regions", 0, 0, 1000);
    let budget = options.number("budget-s", 0.6, 0.0, 600.0);
    options.finish();
    let mut result = Record::new(P::NAME);
    result.number("workers", workers as f64);
    in_workers(workers, || run_tree(&mut problem, samples, regions, budget, &mut result));
    result.print()
}
