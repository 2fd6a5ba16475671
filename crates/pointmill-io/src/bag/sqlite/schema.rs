//! The columns of a table, from the text that made it.

/// Words that begin no column.
const CONSTRAINTS: [&str; 5] = ["constraint", "primary", "unique", "check", "foreign"];

/// The names of the columns that rows have, in small letters; `None` for a text that is not a plain
/// `CREATE TABLE name(column, ...)`.
pub(super) fn columns(sql: &str) -> Option<Vec<String>> {
    let (head, body) = sql.split_once('(')?;
    let mut words = head.split_ascii_whitespace();
    let starts = ["create", "table"].iter().all(|word| words.next().is_some_and(|w| w.eq_ignore_ascii_case(word)));
    // Only the end of the parentheses ends the text: WITHOUT ROWID changes how rows lie.
    let body = body.trim_end().strip_suffix(')').filter(|_| starts)?;
    if ["--", "/*"].iter().any(|comment| sql.contains(comment)) {
        return None;
    }
    let mut names = Vec::new();
    for part in parts(body)? {
        let part = part.trim();
        let name = match part.chars().next()? {
            quote @ ('"' | '`' | '[') => {
                let close = if quote == '[' { ']' } else { quote };
                part[1..].split_once(close)?.0
            }
            _ => part.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())?,
        };
        let name = name.to_ascii_lowercase();
        // A column that is computed may have no place in rows.
        if part.split_ascii_whitespace().any(|word| ["as", "generated"].contains(&&*word.to_ascii_lowercase())) {
            return None;
        }
        if !CONSTRAINTS.contains(&&*name) {
            names.push(name);
        }
    }
    Some(names)
}

/// The parts between commas outside of parentheses and quotes.
fn parts(body: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut depth, mut quote) = (vec![], 0, 0usize, None);
    for (at, c) in body.char_indices() {
        match (quote, c) {
            (Some(close), _) if c == close => quote = None,
            (Some(_), _) => {}
            (None, '"' | '`' | '\'') => quote = Some(c),
            (None, '[') => quote = Some(']'),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.checked_sub(1)?,
            (None, ',') if depth == 0 => {
                parts.push(&body[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&body[start..]);
    (depth == 0 && quote.is_none()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_of_plain_tables_are_found() {
        let of = |sql| columns(sql).map(|names| names.join(" "));
        let messages = "CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER NOT NULL,timestamp INTEGER NOT NULL, data BLOB NOT NULL)";
        assert_eq!(of(messages).unwrap(), "id topic_id timestamp data");
        let odd = "create  TABLE t (\"Id, 1\" INT, [b)] TEXT DEFAULT 'a,b(', `c` DECIMAL(3, 2) CHECK (c > 1),\n d, PRIMARY KEY (d, b))";
        assert_eq!(of(odd).unwrap(), "id, 1 b) c d");
        for bad in [
            "",
            "CREATE TABLE t",
            "CREATE VIEW t(a)",
            "CREATE VIRTUAL TABLE t USING fts5(a)",
            "CREATE TABLE t(a) WITHOUT ROWID",
            "CREATE TABLE t(a, b INT GENERATED ALWAYS AS (a))",
            "CREATE TABLE t(a, b AS (a))",
            "CREATE TABLE t(a, /* , */ b)",
            "CREATE TABLE t(a, 'b)",
            "CREATE TABLE t(a,)",
            "CREATE TABLE t(a))",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
