//! Numeric codes, most of which are named in a specification.

/// Defines a code type: a constant for each name, `name`, and a `Display` that formats a number
/// without a name with `$other`.
macro_rules! codes {
    (
        $(#[$type_doc:meta])*
        pub struct $Code:ident, or else $other:literal:
        $($name:ident = $number:literal, $doc:literal;)*
    ) => {
        $(#[$type_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $Code(pub u32);

        impl $Code {
            $(#[doc = $doc] pub const $name: $Code = $Code($number);)*

            /// The code's name; `None` if the specification does not name it.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $Code {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, $other, self.0),
                }
            }
        }
    };
}

pub(crate) use codes;
