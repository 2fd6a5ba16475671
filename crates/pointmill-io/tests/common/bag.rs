//! Bags and messages made by hand, so that they can lie.

/// How a bag starts and ends.
pub(crate) const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// A record.
pub(crate) fn record(op: u8, content: &[u8]) -> Vec<u8> {
    [&[op][..], &(content.len() as u64).to_le_bytes(), content].concat()
}

/// Bytes with their number in front, as 32 bits.
pub(crate) fn sized(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat()
}

pub(crate) fn schema(id: u16, name: &str) -> Vec<u8> {
    record(3, &[&id.to_le_bytes()[..], &sized(name.as_bytes()), &sized(b"ros2msg"), &sized(b"")].concat())
}

pub(crate) fn channel(id: u16, schema: u16, topic: &str) -> Vec<u8> {
    let [id, schema] = [id, schema].map(u16::to_le_bytes);
    record(4, &[&id[..], &schema, &sized(topic.as_bytes()), &sized(b"cdr"), &sized(b"")].concat())
}

pub(crate) fn message(channel: u16, time: u64, data: &[u8]) -> Vec<u8> {
    let time = time.to_le_bytes();
    record(5, &[&channel.to_le_bytes()[..], &[0; 4], &time, &time, data].concat())
}

/// A chunk that claims to unpack to `size` bytes.
pub(crate) fn chunk(compression: &str, size: u64, packed_size: u64, data: &[u8]) -> Vec<u8> {
    let (size, packed) = (size.to_le_bytes(), packed_size.to_le_bytes());
    record(6, &[&[0; 16][..], &size, &[0; 4], &sized(compression.as_bytes()), &packed, data].concat())
}

/// A chunk of records as they are.
pub(crate) fn plain_chunk(records: &[u8]) -> Vec<u8> {
    chunk("", records.len() as u64, records.len() as u64, records)
}

/// The index of a channel's messages in the chunk in front.
pub(crate) fn index(channel: u16, entries: &[(u64, u64)]) -> Vec<u8> {
    let entries: Vec<u8> =
        entries.iter().flat_map(|(time, at)| [time.to_le_bytes(), at.to_le_bytes()].concat()).collect();
    record(7, &[&channel.to_le_bytes()[..], &sized(&entries)].concat())
}

/// The number of messages of a channel, as the end of a file says it.
pub(crate) fn statistics(channel: u16, count: u64) -> Vec<u8> {
    let counts = [&channel.to_le_bytes()[..], &count.to_le_bytes()].concat();
    record(11, &[&[0; 42][..], &sized(&counts)].concat())
}

/// A bag of these records.
pub(crate) fn bag(records: &[Vec<u8>]) -> Vec<u8> {
    [MAGIC, &record(1, &[sized(b""), sized(b"")].concat()), &records.concat(), &record(2, &[0; 20]), MAGIC].concat()
}

/// The type and the channel of clouds.
pub(crate) fn clouds(id: u16, topic: &str) -> Vec<u8> {
    [schema(id, "sensor_msgs/msg/PointCloud2"), channel(id, id, topic)].concat()
}

/// A message of a cloud, in little-endian CDR.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) seconds: i32,
    pub(crate) nanoseconds: u32,
    pub(crate) frame: &'static str,
    pub(crate) height: u32,
    pub(crate) width: u32,
    /// Name, offset, type and count of each field.
    pub(crate) fields: Vec<(&'static str, u32, u8, u32)>,
    pub(crate) big_endian: bool,
    pub(crate) point_step: u32,
    pub(crate) row_step: u32,
    pub(crate) data: Vec<u8>,
}

impl Message {
    /// A cloud of x, y, z.
    pub(crate) fn new(points: &[[f32; 3]]) -> Self {
        let data: Vec<u8> = points.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
        Self {
            seconds: 7,
            nanoseconds: 5,
            frame: "lidar",
            height: 1,
            width: points.len() as u32,
            fields: vec![("x", 0, 7, 1), ("y", 4, 7, 1), ("z", 8, 7, 1)],
            big_endian: false,
            point_step: 12,
            row_step: data.len() as u32,
            data,
        }
    }

    /// The message of ROS 2.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        [&[0, 1, 0, 0], &self.laid(true)[..]].concat()
    }

    /// The message of ROS 1.
    pub(crate) fn ros1(&self) -> Vec<u8> {
        [&[9, 0, 0, 0], &self.laid(false)[..]].concat()
    }

    /// What the two have in common; of ROS 2 numbers are aligned and texts end with a zero.
    fn laid(&self, ros2: bool) -> Vec<u8> {
        let mut out = vec![];
        let number = |out: &mut Vec<u8>, n: u32| {
            if ros2 {
                out.resize(out.len().next_multiple_of(4), 0);
            }
            out.extend(n.to_le_bytes());
        };
        let text = |out: &mut Vec<u8>, text: &str| {
            number(out, text.len() as u32 + u32::from(ros2));
            out.extend(text.bytes());
            if ros2 {
                out.push(0);
            }
        };
        number(&mut out, self.seconds.cast_unsigned());
        number(&mut out, self.nanoseconds);
        text(&mut out, self.frame);
        number(&mut out, self.height);
        number(&mut out, self.width);
        number(&mut out, self.fields.len() as u32);
        for &(name, offset, datatype, count) in &self.fields {
            text(&mut out, name);
            number(&mut out, offset);
            out.push(datatype);
            number(&mut out, count);
        }
        out.push(u8::from(self.big_endian));
        number(&mut out, self.point_step);
        number(&mut out, self.row_step);
        number(&mut out, self.data.len() as u32);
        out.extend(&self.data);
        out.push(0);
        out
    }
}

/// Where records of a bag start, and where numbers are that say sizes, places and counts.
pub(crate) fn structure(bytes: &[u8]) -> (Vec<usize>, Vec<(usize, usize)>) {
    let (mut boundaries, mut numbers) = (vec![0], vec![]);
    records(bytes, MAGIC.len(), bytes.len() - MAGIC.len(), &mut boundaries, &mut numbers);
    (boundaries, numbers)
}

fn records(bytes: &[u8], start: usize, end: usize, boundaries: &mut Vec<usize>, numbers: &mut Vec<(usize, usize)>) {
    let mut at = start;
    while at + 9 <= end {
        let length = u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
        boundaries.push(at);
        numbers.extend([(at, 1), (at + 1, 8)]);
        let content = at + 9;
        match bytes[at] {
            3 | 4 => numbers.extend([(content, 2), (content + 2, 2), (content + 2, 4)]),
            5 => {
                numbers.extend([(content, 2), (content + 6, 8)]);
                let message = content + 22..(content + length).min(content + 22 + 240);
                numbers.extend(message.step_by(4).filter(|n| n + 4 <= content + length).map(|n| (n, 4)));
            }
            6 => {
                let name = content + 28;
                let letters = u32::from_le_bytes(bytes[name..name + 4].try_into().unwrap()) as usize;
                let data = name + 4 + letters + 8;
                numbers.extend([(content + 16, 8), (content + 24, 4), (name, 4), (data - 8, 8)]);
                boundaries.push(data);
                if letters == 0 {
                    records(bytes, data, content + length, boundaries, numbers);
                } else {
                    numbers.extend((data..data + 16).step_by(2).map(|n| (n, 2)));
                }
            }
            7 => numbers.extend([(content, 2), (content + 2, 4), (content + 6, 8), (content + 14, 8)]),
            11 => numbers.extend([(content, 8), (content + 42, 4), (content + 46, 2), (content + 48, 8)]),
            _ => {}
        }
        at = content + length;
    }
    numbers.retain(|(at, width)| at + width <= bytes.len());
}
