//! Integers that JSON text writes with a decimal point or an exponent.

/// From here on, a double cannot represent every integer. The library reads a number with a decimal point or an
/// exponent as a double, and refuses to convert such a large one to an integer.
const FIRST_DOUBTFUL: i128 = 1 << 53;

/// Rewrites numbers in plain digits if they are integers that fit in 64 bits but are too large for an exact
/// double: `1e18` becomes `1000000000000000000`. Returns `None` if there are no such numbers.
pub(crate) fn in_digits(json: &str) -> Option<String> {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let bytes = json.as_bytes();
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        at += match byte {
            b'"' => string_length(rest),
            b'-' | b'0'..=b'9' => {
                let length = rest.iter().take_while(|byte| is_part(byte)).count();
                let number = &json[at..at + length];
                if number.contains(['.', 'e', 'E'])
                    && let Some(whole) = whole(number)
                    && whole.abs() >= FIRST_DOUBTFUL
                {
                    out.push_str(&json[copied..at]);
                    out.push_str(&whole.to_string());
                    copied = at + length;
                }
                length
            }
            _ => 1,
        };
    }
    (copied > 0).then(|| out + &json[copied..])
}

/// The length of the string whose opening quote is the first byte of `rest`, including both quotes.
fn string_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The value of a JSON number if it is an integer that fits in 64 bits.
fn whole(number: &str) -> Option<i128> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (digits, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let decimals = decimals.trim_end_matches('0');
    let zeros = exponent
        .parse::<i32>()
        .ok()?
        .checked_sub(decimals.len().try_into().ok()?)?;
    let digits: i128 = format!("{digits}{decimals}").parse().ok()?;
    let scale = 10_i128.checked_pow(zeros.unsigned_abs())?;
    let value = if zeros >= 0 {
        digits.checked_mul(scale)?
    } else {
        (digits % scale == 0).then_some(digits / scale)?
    };
    (i128::from(i64::MIN)..=i128::from(u64::MAX))
        .contains(&value)
        .then_some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_integers_beyond_a_double_are_changed() {
        for (json, expected) in [
            (r#"{"a":1e18}"#, Some(r#"{"a":1000000000000000000}"#)),
            ("[9007199254740993.0, 1]", Some("[9007199254740993, 1]")),
            ("-9.223372036854775808E+18", Some("-9223372036854775808")),
            ("18446744073709551615.00", Some("18446744073709551615")),
            ("180143985094819840e-1", Some("18014398509481984")),
            ("18446744073709551616.0", None),
            ("1e400", None),
            ("1e99999999999", None),
            ("9007199254740993.5", None),
            ("[1.0, 1e3, -0.0, 0e0]", None),
            (r#"{"1e18":"1e18 \" 1e18"}"#, None),
            ("9007199254740993", None),
            (r#""unfinished \"#, None),
        ] {
            assert_eq!(in_digits(json).as_deref(), expected, "{json}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(text in "\\PC{0,40}") {
            let _ = in_digits(&text);
        }

        #[test]
        fn a_number_keeps_its_value(number: i64, shift in 0_usize..5) {
            let decimal = format!("{number}{}e-{shift}", "0".repeat(shift));
            let expected = (i128::from(number).abs() >= FIRST_DOUBTFUL).then(|| number.to_string());
            prop_assert_eq!(in_digits(&decimal), expected);
        }
    }
}
