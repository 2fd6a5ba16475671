//! Systems in the keys of `GeoTIFF`.

use super::{Crs, Unit, VerticalCrs};

/// The keys that are read.
const MODEL: u16 = 1024;
const CITATION: u16 = 1026;
const GEOGRAPHIC: u16 = 2048;
const GEOGRAPHIC_CITATION: u16 = 2049;
const GEOCENTRIC_UNIT: u16 = 2052;
const PROJECTED: u16 = 3072;
const PROJECTED_CITATION: u16 = 3073;
const PROJECTED_UNIT: u16 = 3076;
const PROJECTED_UNIT_SIZE: u16 = 3077;
const VERTICAL: u16 = 4096;
const VERTICAL_CITATION: u16 = 4097;
const VERTICAL_UNIT: u16 = 4099;

/// Where values of keys are: in the record of texts, or in the one of numbers.
const TEXTS: u16 = 34737;
const DOUBLES: u16 = 34736;

/// A code of the user's own.
const OWN: u16 = 32_767;

/// The records about a system: keys, numbers, texts.
struct Keys<'a> {
    entries: Vec<[u16; 4]>,
    doubles: &'a [u8],
    texts: &'a [u8],
}

/// The system of the records with keys, numbers and texts; `None` of keys that name none.
pub(crate) fn of_keys(keys: &[u8], doubles: &[u8], texts: &[u8]) -> Option<Crs> {
    let words: Vec<u16> = keys.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
    let (head, rest) = words.split_first_chunk::<4>()?;
    let entries = rest.as_chunks::<4>().0.iter().take(usize::from(head[3])).copied().collect();
    let keys = Keys { entries, doubles, texts };
    let crs = keys.system();
    (crs != Crs::default()).then_some(crs)
}

/// The keys of a code: those of a system of longitude and latitude, or of one in the plane. `None`
/// of a code of which this is not known.
pub(crate) fn keys_of(epsg: u32) -> Option<Vec<u8>> {
    let is_geographic = matches!(epsg, 4326 | 4258 | 4267 | 4269);
    // The registry has nothing but projected systems there.
    let is_plane = matches!(epsg, 2000..=3818 | 3857 | 20_000..=32_766);
    let (model, id) = if is_geographic { (2, GEOGRAPHIC) } else { (1, PROJECTED) };
    let code = u16::try_from(epsg).ok().filter(|_| is_geographic || is_plane)?;
    let words = [[1, 1, 0, 2], [MODEL, 0, 1, model], [id, 0, 1, code]];
    Some(words.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect())
}

impl Keys<'_> {
    fn entry(&self, id: u16) -> Option<&[u16; 4]> {
        self.entries.iter().find(|entry| entry[0] == id)
    }

    /// The number of a key that is one itself.
    fn number(&self, id: u16) -> Option<u16> {
        self.entry(id).filter(|entry| entry[1] == 0).map(|entry| entry[3])
    }

    fn code(&self, id: u16) -> Option<u32> {
        self.number(id).filter(|code| !matches!(*code, 0 | OWN)).map(u32::from)
    }

    fn text(&self, id: u16) -> Option<String> {
        let [_, _, length, start] = self.entry(id).filter(|entry| entry[1] == TEXTS)?.map(usize::from);
        let text = String::from_utf8_lossy(self.texts.get(start..start + length)?);
        let text = text.trim_end_matches(['|', '\0']).trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn double(&self, id: u16) -> Option<f64> {
        let start = self.entry(id).filter(|entry| entry[1] == DOUBLES).map(|entry| usize::from(entry[3]))?;
        let value = f64::from_le_bytes(*self.doubles.as_chunks::<8>().0.get(start)?);
        (value.is_finite() && value > 0.0).then_some(value)
    }

    /// The unit of lengths that a key has.
    fn length(&self, id: u16) -> Option<Unit> {
        match self.number(id)? {
            9001 => Some(Unit::length("metre", 1.0)),
            9002 => Some(Unit::length("foot", 0.3048)),
            9003 => Some(Unit::length("US survey foot", 1200.0 / 3937.0)),
            9036 => Some(Unit::length("kilometre", 1000.0)),
            OWN if id == PROJECTED_UNIT => Some(Unit::length("unit", self.double(PROJECTED_UNIT_SIZE)?)),
            _ => None,
        }
    }

    fn system(&self) -> Crs {
        let (model, projected) = (self.number(MODEL), self.number(PROJECTED));
        let is_geographic = match model {
            Some(model @ 1..=3) => model == 2,
            _ => projected.is_none() && self.number(GEOGRAPHIC).is_some(),
        };
        let (id, citation) =
            if is_geographic { (GEOGRAPHIC, GEOGRAPHIC_CITATION) } else { (PROJECTED, PROJECTED_CITATION) };
        let epsg = self.code(id);
        let known = epsg.and_then(name_of);
        let unit = match (is_geographic, model) {
            (true, _) => Some(Unit::angle("degree")),
            (false, Some(3)) => self.length(GEOCENTRIC_UNIT),
            // The codes of UTM are of metres.
            (false, _) => self.length(PROJECTED_UNIT).or_else(|| known.as_ref().map(|_| Unit::length("metre", 1.0))),
        };
        let name = known.or_else(|| self.text(citation)).or_else(|| self.text(CITATION));
        let vertical = VerticalCrs {
            name: self.text(VERTICAL_CITATION),
            epsg: self.code(VERTICAL),
            unit: self.length(VERTICAL_UNIT),
        };
        let vertical = (vertical != VerticalCrs::default()).then_some(vertical);
        Crs { name, epsg, is_geographic, unit, vertical }
    }
}

/// The names of codes that follow a rule, or that everybody uses.
fn name_of(code: u32) -> Option<String> {
    Some(match code {
        4326 => "WGS 84".into(),
        4258 => "ETRS89".into(),
        4269 => "NAD83".into(),
        32_601..=32_660 => format!("WGS 84 / UTM zone {}N", code - 32_600),
        32_701..=32_760 => format!("WGS 84 / UTM zone {}S", code - 32_700),
        25_828..=25_838 => format!("ETRS89 / UTM zone {}N", code - 25_800),
        26_901..=26_923 => format!("NAD83 / UTM zone {}N", code - 26_900),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(keys: &[[u16; 4]]) -> Vec<u8> {
        let head = [1, 1, 0, keys.len() as u16];
        head.iter().chain(keys.as_flattened()).flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn keys_have_name_code_and_units() {
        let keys = directory(&[[MODEL, 0, 1, 1], [CITATION, TEXTS, 6, 2], [PROJECTED, 0, 1, 2992], [3076, 0, 1, 9002]]);
        let crs = of_keys(&keys, &[], b"..Ore").unwrap();
        assert_eq!(crs.name, None, "longer than the texts");
        let crs = of_keys(&keys, &[], b"..Oregon|").unwrap();
        assert_eq!((crs.name.as_deref(), crs.epsg, crs.is_geographic), (Some("Oregon"), Some(2992), false));
        assert_eq!(crs.unit.unwrap().symbol(), "ft");
        let utm = directory(&[[PROJECTED, 0, 1, 32_733], [VERTICAL, 0, 1, 5703], [VERTICAL_UNIT, 0, 1, 9003]]);
        let crs = of_keys(&utm, &[], &[]).unwrap();
        assert_eq!(crs.name.as_deref(), Some("WGS 84 / UTM zone 33S"));
        assert_eq!((crs.height_unit().unwrap().symbol(), crs.unit.as_ref().unwrap().symbol()), ("ft", "m"));
        let crs = of_keys(&directory(&[[MODEL, 0, 1, 2], [GEOGRAPHIC, 0, 1, 4326]]), &[], &[]).unwrap();
        assert_eq!((crs.is_geographic, crs.name.as_deref(), crs.epsg), (true, Some("WGS 84"), Some(4326)));
        let own = directory(&[[PROJECTED, 0, 1, OWN], [3076, 0, 1, OWN], [3077, DOUBLES, 1, 1]]);
        let crs = of_keys(&own, &[1.0, 0.9144].map(f64::to_le_bytes).concat(), &[]).unwrap();
        assert_eq!((crs.epsg, crs.unit.unwrap().metres), (None, Some(0.9144)));
    }

    #[test]
    fn codes_have_keys_where_their_kind_is_known() {
        for (code, name) in [(2992, None), (32_632, Some("WGS 84 / UTM zone 32N")), (4326, Some("WGS 84"))] {
            let crs = of_keys(&keys_of(code).unwrap(), &[], &[]).unwrap();
            assert_eq!((crs.epsg, crs.name.as_deref(), crs.is_geographic), (Some(code), name, code == 4326));
        }
        for code in [0, 1, 1999, 4979, 5703, 19_999, 32_767, 65_536 + 2992, u32::MAX] {
            assert_eq!(keys_of(code), None, "{code}");
        }
    }

    #[test]
    fn keys_that_lie_are_passed_over() {
        for keys in [vec![], vec![1, 0, 1], directory(&[]), directory(&[[PROJECTED, 0, 1, 0], [9, 9, 9, 9]])] {
            assert_eq!(of_keys(&keys, &[], &[]), None, "{keys:?}");
        }
        // A count above what is there, places outside, and numbers that are none.
        let mut keys = directory(&[[PROJECTED, 0, 1, 2992], [3073, TEXTS, 65_535, 65_535], [3076, 0, 1, OWN]]);
        keys[6..8].copy_from_slice(&[255, 255]);
        keys.extend([1, 2, 3]);
        let crs = of_keys(&keys, &f64::NAN.to_le_bytes(), b"x").unwrap();
        assert_eq!(crs, Crs { epsg: Some(2992), ..Crs::default() });
    }
}
