//! Prefix codes of deflate: their lengths from how often symbols occur, and their bits.

/// The longest code that deflate has.
const LONGEST: usize = 15;

/// A code for each symbol.
#[derive(Clone, Debug)]
pub(super) struct PrefixCode<const SYMBOLS: usize> {
    /// Bits of each symbol's code; 0 stands for symbols that do not occur.
    pub(super) lengths: [u8; SYMBOLS],
    /// The codes, their first bit lowest, as deflate writes them.
    codes: [u16; SYMBOLS],
}

impl<const SYMBOLS: usize> PrefixCode<SYMBOLS> {
    /// The best code for symbols that occur `counts` times, or nearly the best where it would have
    /// codes of more than `longest` bits. Counts are below 2^23, symbols fewer than 512.
    pub(super) fn new(counts: &[u32; SYMBOLS], longest: usize) -> Self {
        let mut rarest_first = [0; SYMBOLS];
        let mut used = 0;
        for (symbol, &count) in counts.iter().enumerate() {
            // Counts are compared first, then symbols.
            rarest_first[used] = count << 9 | symbol as u32;
            used += usize::from(count > 0);
        }
        let rarest_first = &mut rarest_first[..used];
        rarest_first.sort_unstable();
        let mut of_length = [0; LONGEST + 1];
        match rarest_first.len() {
            0 => {}
            // The code of a single symbol still has a bit.
            1 => of_length[1] = 1,
            _ => {
                let weights = rarest_first.iter().map(|entry| entry >> 9).collect();
                of_length = best_lengths(weights, longest);
            }
        }
        let mut lengths = [0; SYMBOLS];
        let mut symbols = rarest_first.iter().map(|entry| (entry & 511) as usize);
        for length in (1..=LONGEST).rev() {
            for symbol in symbols.by_ref().take(of_length[length]) {
                lengths[symbol] = length as u8;
            }
        }
        Self { codes: codes(&lengths, &of_length), lengths }
    }

    /// The code of `symbol`, and how many bits it has.
    pub(super) fn of(&self, symbol: usize) -> (u16, u32) {
        (self.codes[symbol], self.lengths[symbol].into())
    }
}

/// How many codes of each length, none above `longest`, suit symbols of these weights, of which
/// there are at least two, the lightest first.
///
/// Source: Moffat and Katajainen, In-Place Calculation of Minimum-Redundancy Codes, 1995.
fn best_lengths(mut tree: Vec<u32>, longest: usize) -> [usize; LONGEST + 1] {
    let leaves = tree.len();
    // The lightest two of leaves and inner nodes are joined, again and again. An inner node takes
    // the place of a leaf that was joined; once joined itself, it holds its parent's index.
    let (mut inner, mut leaf) = (0, 0);
    for next in 0..leaves - 1 {
        let mut weight = 0;
        for _ in 0..2 {
            if leaf == leaves || (inner < next && tree[inner] < tree[leaf]) {
                weight += tree[inner];
                tree[inner] = next as u32;
                inner += 1;
            } else {
                weight += tree[leaf];
                leaf += 1;
            }
        }
        tree[next] = weight;
    }
    // From the root, the last one, down: the depth of each inner node.
    tree[leaves - 2] = 0;
    for node in (0..leaves - 2).rev() {
        tree[node] = tree[tree[node] as usize] + 1;
    }
    let mut of_length = [0; LONGEST + 1];
    let mut nodes = tree[..leaves - 1].iter().rev().peekable();
    let (mut depth, mut places) = (0, 1);
    while places > 0 {
        let mut inner = 0;
        while nodes.next_if(|node| **node as usize == depth).is_some() {
            inner += 1;
        }
        of_length[depth.min(longest)] += places - inner;
        places = 2 * inner;
        depth += 1;
    }
    shorten(&mut of_length, longest);
    of_length
}

/// Makes a prefix code of lengths of which some were cut to `longest`.
fn shorten(of_length: &mut [usize; LONGEST + 1], longest: usize) {
    // The share of all codes that each takes, in that of a longest one.
    let mut taken: usize =
        (1..=longest).map(|length| of_length[length] << (longest - length)).sum();
    while taken > 1 << longest {
        // A shorter code gets a bit more, and one of the longest becomes its sibling.
        let shorter = (1..longest).rev().find(|&length| of_length[length] > 0);
        let shorter = shorter.expect("the longest codes alone are fewer than there is room for");
        of_length[shorter] -= 1;
        of_length[shorter + 1] += 2;
        of_length[longest] -= 1;
        taken -= 1;
    }
}

/// The codes that deflate gives to symbols of these lengths (RFC 1951, 3.2.2).
fn codes<const SYMBOLS: usize>(
    lengths: &[u8; SYMBOLS],
    of_length: &[usize; LONGEST + 1],
) -> [u16; SYMBOLS] {
    let mut next = [0u16; LONGEST + 1];
    for length in 2..=LONGEST {
        next[length] = (next[length - 1] + of_length[length - 1] as u16) << 1;
    }
    let mut codes = [0; SYMBOLS];
    for (code, &length) in codes.iter_mut().zip(lengths) {
        if length > 0 {
            *code = next[usize::from(length)].reverse_bits() >> (16 - length);
            next[usize::from(length)] += 1;
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits of all symbols in the code.
    fn cost<const SYMBOLS: usize>(counts: &[u32; SYMBOLS], longest: usize) -> u32 {
        let code = PrefixCode::new(counts, longest);
        let room: f64 =
            code.lengths.iter().filter(|&&l| l > 0).map(|&l| 0.5f64.powi(l.into())).sum();
        assert!(room <= 1.0, "no prefix code: {:?}", code.lengths);
        assert!(code.lengths.iter().all(|&length| usize::from(length) <= longest));
        counts.iter().zip(code.lengths).map(|(count, length)| count * u32::from(length)).sum()
    }

    #[test]
    fn common_symbols_get_short_codes() {
        // Huffman's example: 1, 2, 3, 4 and 5 bits.
        assert_eq!(cost(&[16, 8, 4, 2, 1, 1], 15), 16 + 2 * 8 + 3 * 4 + 4 * 2 + 5 + 5);
        assert_eq!(cost(&[3, 3, 3, 3, 0], 15), 24);
        assert_eq!((cost(&[0, 7, 0], 15), cost(&[0, 0], 15)), (7, 0));
    }

    #[test]
    fn codes_that_would_be_too_long_are_cut() {
        // Fibonacci's numbers make the longest codes there are: 22 bits for these.
        let mut counts = [1u32; 23];
        for i in 2..counts.len() {
            counts[i] = counts[i - 1] + counts[i - 2];
        }
        let best = cost(&counts, 22.min(LONGEST));
        assert!(cost(&counts, 7) > best);
    }
}
