//! Variable length records before the points and extended records after them. A record is a head,
//! which has the length of the data, and the data.

use super::extra;
use super::header::{EVLR_HEAD, Header, POINTS_THERE, VLR_HEAD};
use crate::bytes::{u16_at, u64_at};
use crate::error::{IoError, POINTS_BEFORE};
use crate::fault::{bail, fault};
use crate::survey::{OtherRecord, Record, Survey};
use crate::window::Window;

/// User id and record id of the record that describes the compression of the points.
const PACKING: (&[u8], u16) = (b"laszip encoded", 22204);

/// User id and record id of the record about the octree of a COPC file.
const OCTREE: (&[u8], u16) = (b"copc", 1);

/// Of the record with its pages.
const OCTREE_PAGES: (&[u8], u16) = (b"copc", 1000);

/// Of the record with wave packets.
const WAVES: (&[u8], u16) = (b"LASF_Spec", 65535);

/// Bytes of an extended record that is kept.
const MOST_KEPT: u64 = 1 << 24;

/// The user id of records about the coordinate reference system.
pub(super) const CRS: &[u8] = b"LASF_Projection";

/// The data of the records that are read.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// About compression.
    pub(super) packing: Option<Vec<u8>>,
    /// About the octree of a COPC file.
    pub(super) octree: Option<Vec<u8>>,
    /// About the coordinate reference system, in order.
    pub(super) crs: Vec<Record>,
    /// About extra bytes.
    pub(super) extra: Vec<u8>,
    /// The others.
    pub(super) others: Vec<OtherRecord>,
}

/// Skips the records before the points. Returns the data of those about compression and the octree,
/// if they exist and the points are compressed. If `salvage`, bytes before the points that are no
/// record are skipped.
pub(super) fn read(window: &mut Window<'_, '_>, header: &mut Header, salvage: bool) -> Result<Records, IoError> {
    let mut records = Records::default();
    for i in 0..header.vlrs {
        let field = |part: &str| format!("variable length record {i}: {part}");
        // The bytes before the points. The header check has ensured that they are in the file.
        let room = header.offset.saturating_sub(window.position());
        let taken = window.peek(VLR_HEAD)?;
        if taken.len() < VLR_HEAD || room < VLR_HEAD as u64 {
            let found = format!("{} bytes", room.min(taken.len() as u64));
            let reason = fault!(window, Truncated, (field("head")), "{VLR_HEAD} bytes", found);
            header.leave_out(salvage, reason.salvageable(POINTS_THERE))?;
            break;
        }
        let head = window.at(&taken);
        let user = head[2..18].split(|&b| b == 0).next().unwrap_or_default();
        let kind = (user, u16_at(head, 18));
        let (about_packing, about_octree) = (kind == PACKING, kind == OCTREE);
        let (about_extra, is_ours) = (kind == extra::RECORD, about_packing || about_octree || kind == OCTREE_PAGES);
        let other = (!is_ours).then(|| other(head, false));
        let crs = is_crs(head).then(|| Record { id: u16_at(head, 18), data: vec![] });
        let length = u16_at(head, 20);
        let room = room - VLR_HEAD as u64;
        if u64::from(length) > room {
            let wanted = format!("at most {room} bytes, which are left before the points");
            let reason = fault!(window, SizeMismatch, (field("length")), wanted, "{length} bytes");
            header.leave_out(salvage, reason.salvageable(POINTS_THERE))?;
            break;
        }
        window.bytes(VLR_HEAD)?;
        if about_packing && header.compressed {
            let taken = window.bytes(usize::from(length))?;
            if records.packing.replace(window.at(&taken).to_vec()).is_some() {
                bail!(window, BadHeader, (field("kind")), "one about compression", "a second");
            }
        } else if about_octree && header.compressed && records.octree.is_none() {
            let taken = window.bytes(usize::from(length))?;
            records.octree = Some(window.at(&taken).to_vec());
        } else if let Some(record) = crs {
            let taken = window.bytes(usize::from(length))?;
            records.crs.push(Record { data: window.at(&taken).to_vec(), ..record });
        } else if about_extra && records.extra.is_empty() {
            let taken = window.bytes(usize::from(length))?;
            records.extra = window.at(&taken).to_vec();
        } else if let Some(other) = other {
            let taken = window.bytes(usize::from(length))?;
            records.others.push(OtherRecord { data: window.at(&taken).to_vec(), ..other });
        } else {
            window.skip(u64::from(length))?;
        }
    }
    // Bytes between the records and the points have no meaning. For a stream, only this skip shows
    // whether they exist.
    let between = header.offset.saturating_sub(window.position());
    let found = window.skip(between)?;
    if found < between {
        let wanted = format!("at most {}, the file's length", window.position());
        bail!(window, Truncated, "offset to point data", wanted, header.offset);
    }
    Ok(records)
}

/// Whether the head of a record, extended or not, is of one about the coordinate reference system.
fn is_crs(head: &[u8]) -> bool {
    head[2..18].strip_prefix(CRS).is_some_and(|rest| rest[0] == 0)
}

/// A record of a head, extended or not, without its data.
fn other(head: &[u8], is_extended: bool) -> OtherRecord {
    let text = |bytes: &[u8]| bytes.split(|&b| b == 0).next().unwrap_or_default().to_vec();
    let about = if is_extended { 28 } else { 22 };
    let (user, description) = (text(&head[2..18]), text(&head[about..about + 32]));
    OtherRecord { user, id: u16_at(head, 18), description, data: vec![], is_extended }
}

/// Reads the extended records. The points end at `end`, where the window is. Returns the number of
/// bytes that belong to no record. A system is that of the points, if no record before them has
/// one; others are kept, unless they are longer than [`MOST_KEPT`].
pub(super) fn read_extended(
    window: &mut Window<'_, '_>,
    header: &Header,
    end: u64,
    survey: &mut Survey,
) -> Result<u64, IoError> {
    if let Some((start, count)) = header.extended {
        if start < end {
            bail!(window, BadHeader, "start of extended records", "at least {end}, where the points end", start);
        }
        skip(window, start - end, "extended variable length records")?;
        for i in 0..count {
            let field = |part: &str| format!("extended variable length record {i}: {part}");
            let taken = window.bytes(EVLR_HEAD)?;
            if taken.len() < EVLR_HEAD {
                let wanted = format!("{EVLR_HEAD} bytes");
                let found = format!("{} bytes", taken.len());
                return Err(fault!(window, Truncated, (field("head")), wanted, found).salvageable(POINTS_BEFORE));
            }
            let head = window.at(&taken);
            let (length, record) = (u64_at(head, 20), other(head, true));
            let is_ours = record.user == OCTREE_PAGES.0;
            let crs = is_crs(head) && survey.crs.iter().all(|known| known.id != record.id);
            let is_waves = (&record.user[..], record.id) == WAVES;
            if is_ours || is_waves || length > MOST_KEPT {
                if !is_ours && !is_waves {
                    survey.others.push(record.name());
                }
                skip(window, length, &field("data"))?;
                continue;
            }
            let taken = window.bytes(length as usize)?;
            let data = window.at(&taken).to_vec();
            if (data.len() as u64) < length {
                let (wanted, found) = (format!("{length} bytes"), format!("{} bytes", data.len()));
                return Err(fault!(window, Truncated, (field("data")), wanted, found).salvageable(POINTS_BEFORE));
            }
            if crs && u16::try_from(length).is_ok() {
                survey.crs.push(Record { id: record.id, data });
            } else {
                survey.kept.push(OtherRecord { data, ..record });
            }
        }
    }
    let rest = window.rest()?;
    Ok(if header.waveforms { 0 } else { rest })
}

/// Skips bytes; it is an error if they do not exist.
fn skip(window: &mut Window<'_, '_>, count: u64, field: &str) -> Result<(), IoError> {
    let found = match window.left() {
        Some(left) if left < count => left,
        _ => window.skip(count)?,
    };
    if found < count {
        return Err(fault!(window, Truncated, field, "{count} bytes", "{found} bytes").salvageable(POINTS_BEFORE));
    }
    Ok(())
}

/// A variable length record without a description.
pub(super) fn vlr(kind: (&[u8], u16), data: &[u8]) -> Vec<u8> {
    described(kind, &[], data)
}

/// A variable length record.
pub(super) fn described((user, id): (&[u8], u16), description: &[u8], data: &[u8]) -> Vec<u8> {
    let mut record = vec![0; VLR_HEAD];
    record[2..2 + user.len()].copy_from_slice(user);
    record[18..20].copy_from_slice(&id.to_le_bytes());
    record[20..22].copy_from_slice(&(data.len() as u16).to_le_bytes());
    record[22..22 + description.len()].copy_from_slice(description);
    record.extend(data);
    record
}

/// A record behind the points.
pub(super) fn extended(of: &OtherRecord) -> Vec<u8> {
    let mut record = vec![0; EVLR_HEAD];
    record[2..2 + of.user.len()].copy_from_slice(&of.user);
    record[18..20].copy_from_slice(&of.id.to_le_bytes());
    record[20..28].copy_from_slice(&(of.data.len() as u64).to_le_bytes());
    record[28..28 + of.description.len()].copy_from_slice(&of.description);
    record.extend(&of.data);
    record
}
