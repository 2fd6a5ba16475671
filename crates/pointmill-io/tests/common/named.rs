//! PLY and PCD files of any layout, made by a second hand: value by value from a description,
//! without the code under test.

use pointmill_io::Dtype;

/// The types that both formats have.
pub(crate) const TYPES: [Dtype; 8] =
    [Dtype::I8, Dtype::U8, Dtype::I16, Dtype::U16, Dtype::I32, Dtype::U32, Dtype::F32, Dtype::F64];

/// A table of values of any types, each as its bits.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) names: Vec<String>,
    pub(crate) dtypes: Vec<Dtype>,
    pub(crate) rows: Vec<Vec<u64>>,
}

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Encoding {
    Ascii,
    Little,
    Big,
    Compressed,
}

impl Table {
    /// The value as `f64`, exact.
    pub(crate) fn value(&self, i: usize, j: usize) -> f64 {
        let bits = self.rows[i][j];
        match self.dtypes[j] {
            Dtype::I8 => f64::from(bits as i8),
            Dtype::U8 => f64::from(bits as u8),
            Dtype::I16 => f64::from(bits as i16),
            Dtype::U16 => f64::from(bits as u16),
            Dtype::I32 => f64::from(bits as i32),
            Dtype::U32 => f64::from(bits as u32),
            Dtype::F32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }

    fn text(&self, i: usize, j: usize) -> String {
        match self.dtypes[j] {
            // The shortest text that is read back as the same number of its type.
            Dtype::F32 => f32::from_bits(self.rows[i][j] as u32).to_string(),
            _ => self.value(i, j).to_string(),
        }
    }

    fn bytes(&self, i: usize, j: usize, big: bool) -> Vec<u8> {
        let mut bytes = self.rows[i][j].to_le_bytes()[..self.dtypes[j].bytes()].to_vec();
        if big {
            bytes.reverse();
        }
        bytes
    }

    fn data(&self, encoding: Encoding, end: &str) -> Vec<u8> {
        let mut data = vec![];
        for i in 0..self.rows.len() {
            for j in 0..self.names.len() {
                match encoding {
                    Encoding::Ascii => {
                        data.extend(self.text(i, j).bytes());
                        data.extend(if j + 1 == self.names.len() { end } else { " " }.bytes());
                    }
                    _ => data.extend(self.bytes(i, j, encoding == Encoding::Big)),
                }
            }
        }
        data
    }

    /// The table as a PLY file; lines end in `end`.
    pub(crate) fn ply(&self, encoding: Encoding, end: &str) -> Vec<u8> {
        let kind = match encoding {
            Encoding::Ascii => "ascii",
            Encoding::Big => "binary_big_endian",
            _ => "binary_little_endian",
        };
        let mut lines = vec!["ply".into(), format!("format {kind} 1.0"), "comment made by a test".into()];
        lines.push(format!("element vertex {}", self.rows.len()));
        for (j, (name, dtype)) in self.names.iter().zip(&self.dtypes).enumerate() {
            // Either name of a type, in turn.
            let at = TYPES.iter().position(|d| d == dtype).unwrap();
            let old = ["char", "uchar", "short", "ushort", "int", "uint", "float", "double"][at];
            let new = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"][at];
            lines.push(format!("property {} {name}", if j % 2 == 0 { old } else { new }));
        }
        lines.push("end_header".into());
        let header: String = lines.iter().map(|line| format!("{line}{end}")).collect();
        [header.into_bytes(), self.data(encoding, end)].concat()
    }

    /// The table as a PCD file.
    pub(crate) fn pcd(&self, encoding: Encoding, end: &str) -> Vec<u8> {
        let kind = match encoding {
            Encoding::Ascii => "ascii",
            Encoding::Compressed => "binary_compressed",
            _ => "binary",
        };
        let words = |word: &dyn Fn(&Dtype) -> String| self.dtypes.iter().map(word).collect::<Vec<_>>().join(" ");
        let letter = |dtype: &Dtype| dtype.as_str()[..1].to_uppercase();
        let n = self.rows.len();
        let lines = [
            "# .PCD v0.7 - Point Cloud Data file format".into(),
            "VERSION 0.7".into(),
            format!("FIELDS {}", self.names.join(" ")),
            format!("SIZE {}", words(&|d| d.bytes().to_string())),
            format!("TYPE {}", words(&letter)),
            format!("COUNT {}", words(&|_| "1".into())),
            format!("WIDTH {n}"),
            "HEIGHT 1".into(),
            "VIEWPOINT 0 0 0 1 0 0 0".into(),
            format!("POINTS {n}"),
            format!("DATA {kind}"),
        ];
        let header: String = lines.iter().map(|line| format!("{line}{end}")).collect();
        let data = if encoding == Encoding::Compressed {
            let columns = (0..self.names.len()).flat_map(|j| (0..n).map(move |i| (i, j)));
            let plain: Vec<u8> = columns.flat_map(|(i, j)| self.bytes(i, j, false)).collect();
            let packed = pack(&plain);
            [&(packed.len() as u32).to_le_bytes()[..], &(plain.len() as u32).to_le_bytes(), &packed].concat()
        } else {
            self.data(encoding, end)
        };
        [header.into_bytes(), data].concat()
    }
}

/// LZF: the longest match among the last 8192 bytes, found by looking at all of them.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut plain, mut at) = (vec![], vec![], 0);
    let flush = |out: &mut Vec<u8>, plain: &mut Vec<u8>| {
        for run in plain.chunks(32) {
            out.push(run.len() as u8 - 1);
            out.extend(run);
        }
        plain.clear();
    };
    while at < bytes.len() {
        let length = |from: usize| bytes[from..].iter().zip(&bytes[at..]).take(264).take_while(|(a, b)| a == b).count();
        let best = (at.saturating_sub(8192)..at).map(|from| (length(from), from)).max().filter(|(n, _)| *n >= 3);
        let Some((n, from)) = best else {
            plain.push(bytes[at]);
            at += 1;
            continue;
        };
        flush(&mut out, &mut plain);
        let distance = at - from - 1;
        let high = (distance >> 8) as u8;
        if n < 9 {
            out.extend([((n as u8 - 2) << 5) | high, distance as u8]);
        } else {
            out.extend([(7 << 5) | high, (n - 9) as u8, distance as u8]);
        }
        at += n;
    }
    flush(&mut out, &mut plain);
    out
}
