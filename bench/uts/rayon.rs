//! rayon: the children are halved by `join` until one is left. uts.hpp says what the tree is.
use bench::{demand, tree_main, Arguments, Problem};

type Digest = [u32; 5];

/// SHA-1 of words followed by one more, in one block: sha1.hpp, written for this compiler.
#[inline(always)]
fn sha1<const COUNT: usize>(words: &[u32; COUNT], last: u32) -> Digest {
    let mut w = [0u32; 16];
    w[..COUNT].copy_from_slice(words);
    w[COUNT] = last;
    w[COUNT + 1] = 0x8000_0000;
    w[15] = (COUNT as u32 + 1) * 32;
    let start: Digest = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let [mut a, mut b, mut c, mut d, mut e] = start;
    macro_rules! step {
        ($i:expr, $a:ident $b:ident $c:ident $d:ident $e:ident) => {
            if $i >= 16 {
                w[$i % 16] = (w[($i + 13) % 16] ^ w[($i + 8) % 16] ^ w[($i + 2) % 16] ^ w[$i % 16]).rotate_left(1);
            }
            let mixed = match $i / 20 {
                0 => ($d ^ ($b & ($c ^ $d))).wrapping_add(0x5a82_7999),
                1 => ($b ^ $c ^ $d).wrapping_add(0x6ed9_eba1),
                2 => (($b & $c) | ($d & ($b | $c))).wrapping_add(0x8f1b_bcdc),
                _ => ($b ^ $c ^ $d).wrapping_add(0xca62_c1d6),
            };
            $e = $e.wrapping_add($a.rotate_left(5)).wrapping_add(mixed).wrapping_add(w[$i % 16]);
            $b = $b.rotate_left(30);
        };
    }
    macro_rules! five {
        ($($i:expr),*) => { $(
            step!($i * 5, a b c d e);
            step!($i * 5 + 1, e a b c d);
            step!($i * 5 + 2, d e a b c);
            step!($i * 5 + 3, c d e a b);
            step!($i * 5 + 4, b c d e a);
        )* };
    }
    five!(0usize, 1usize, 2usize, 3usize, 4usize, 5usize, 6usize, 7usize);
    five!(8usize, 9usize, 10usize, 11usize, 12usize, 13usize, 14usize, 15usize);
    let sums = [a, b, c, d, e];
    std::array::from_fn(|i| sums[i].wrapping_add(start[i]))
}

#[derive(Clone, Copy)]
struct Node {
    state: Digest,
    depth: usize,
}

impl Node {
    fn child(&self, number: usize) -> Node {
        Node { state: sha1(&self.state, number as u32), depth: self.depth + 1 }
    }
    fn count_children(&self, deepest: usize) -> usize {
        if self.depth >= deepest {
            return 0;
        }
        let uniform = (self.state[4] & 0x7fff_ffff) as f64 / 2147483648.0;
        let count = ((1.0 - uniform).ln() / 0.8f64.ln()).floor() as usize;
        count.min(100)
    }
}

fn walk_children(node: &Node, deepest: usize, from: usize, to: usize) -> u64 {
    if to - from == 1 {
        return walk(&node.child(from), deepest);
    }
    let middle = from + (to - from) / 2;
    let (one, other) =
        rayon::join(|| walk_children(node, deepest, from, middle), || walk_children(node, deepest, middle, to));
    one + other
}

fn walk(node: &Node, deepest: usize) -> u64 {
    match node.count_children(deepest) {
        0 => 1,
        count => 1 + walk_children(node, deepest, 0, count),
    }
}

const SIZES: [u64; 11] = [1, 6, 65, 254, 944, 3987, 16000, 63914, 257042, 1031269, 4130071];

struct Tree {
    depth: usize,
    result: u64,
}

impl Problem for Tree {
    const NAME: &'static str = "uts";
    fn read(options: &mut Arguments) -> Self {
        Tree { depth: options.whole("depth", 10, 1, 10), result: 0 }
    }
    fn smaller(&self) -> Self {
        Tree { depth: if self.depth > 4 { self.depth - 4 } else { self.depth }, result: 0 }
    }
    fn solve(&mut self) {
        self.result = walk(&Node { state: sha1(&[0; 4], 19), depth: 0 }, self.depth)
    }
    fn check(&self) {
        demand(self.result == SIZES[self.depth], "wrong number of nodes")
    }
}

fn main() {
    tree_main::<Tree>()
}
