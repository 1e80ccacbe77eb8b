//! Patterns over paths, component by component: `*` and `?` within one, `**` for any number of them, none included. Pure.

/// Whether a pattern covers a path; both are given as their components.
pub(super) fn covers(pattern: &[String], path: &[String]) -> bool {
    starred(pattern, path, |part| part == "**", |part, name| component(part, name))
}

/// Whether a pattern covers a path or a folder that it is in.
pub(super) fn covers_from_above(pattern: &[String], path: &[String]) -> bool {
    (1..=path.len()).any(|end| covers(pattern, &path[..end]))
}

pub(super) fn component(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    starred(&pattern, &name, |c| *c == '*', |p, c| *p == '?' || p == c)
}

/// Matching with stars that stand for any number of items. A star that took too little takes one more: only the last one
/// seen ever has to, so that this takes no longer than the product of both lengths.
fn starred<P, T>(pattern: &[P], text: &[T], star: impl Fn(&P) -> bool, same: impl Fn(&P, &T) -> bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(part) if star(part) => {
                last = Some((p, t));
                p += 1;
            }
            Some(part) if same(part, &text[t]) => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((star_at, took)) = last else { return false };
                last = Some((star_at, took + 1));
                p = star_at + 1;
                t = took + 1;
            }
        }
    }
    pattern[p..].iter().all(star)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(path: &str) -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn stars_know_their_boundaries() {
        for (pattern, path, fits) in [
            ("src/*.ts", "src/x.ts", true),
            ("src/*.ts", "src/sub/x.ts", false),
            ("src/**/x", "src/x", true),
            ("src/**/x", "src/a/b/x", true),
            ("src/**/x", "src/foox", false),
            ("**/x", "x", true),
            ("**/x", "ax", false),
            ("dir/**", "dir", true),
            ("dir/**", "dir/a/b", true),
            ("dir/**", "dirt", false),
            ("**", "a/b", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a?c", "a/c", false),
            ("*", "a/b", false),
            ("a*b*c", "aXbXbc", true),
            ("**/a/**/b", "a/a/x/b", true),
            ("**/a/**/b", "a/x/c", false),
            (".env*", ".env.local", true),
        ] {
            assert_eq!(covers(&parts(pattern), &parts(path)), fits, "{pattern} {path}");
        }
        assert!(covers_from_above(&parts("secrets"), &parts("secrets/a/b")));
        assert!(!covers_from_above(&parts("secrets"), &parts("other/secrets")));
    }

    proptest! {
        #[test]
        fn a_path_covers_itself_and_two_stars_cover_all(path in "[ab]{1,3}(/[ab]{1,3}){0,4}") {
            prop_assert!(covers(&parts(&path), &parts(&path)));
            prop_assert!(covers(&parts("**"), &parts(&path)));
            let anywhere = format!("**/{path}");
            prop_assert!(covers(&parts(&anywhere), &parts(&path)));
        }
    }
}
