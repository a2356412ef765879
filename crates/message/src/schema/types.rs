//! The linked descriptors of a schema.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use buffa::editions::FieldPresence;
use buffa::{DecodeOptions, Message as _};
use buffa_descriptor::generated::descriptor::FileDescriptorSet;
use buffa_descriptor::{DescriptorPool, DynamicMessage, PoolError, ReflectMessage};

use super::{SchemaError, json_names, names};
use crate::path::{self, clip};

/// The linked descriptors of a schema, and the encoded set that they came from.
pub(crate) struct Types {
    pub(crate) pool: Arc<DescriptorPool>,
    pub(crate) descriptor_set: Vec<u8>,
    /// Whether any field is required. If not, messages are not searched for missing fields.
    has_required: bool,
    /// Whether a message may contain arbitrary messages, in a `google.protobuf.Any`.
    pub(crate) has_any: bool,
    /// The same types, with their .proto field names as JSON names.
    by_proto_names: OnceLock<Arc<DescriptorPool>>,
    /// Whether a message with unknown fields has arrived. Later messages from its sender probably have them
    /// too.
    pub(crate) unknown_fields: AtomicBool,
}

impl std::fmt::Debug for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Types({} messages)", self.pool.messages().len())
    }
}

impl Types {
    /// Links a set, whose decoded descriptors may use at most `max_memory` bytes.
    pub(crate) fn new(descriptor_set: Vec<u8>, max_memory: usize) -> Result<Self, SchemaError> {
        let unusable = |file: Option<&str>, what: &str| SchemaError::DescriptorSet {
            file: file.map(clip),
            what: clip(what),
        };
        let mut set = DecodeOptions::new()
            .with_element_memory_limit(max_memory)
            .decode_from_slice::<FileDescriptorSet>(&descriptor_set)
            .map_err(|error| unusable(None, &PoolError::Decode(error).to_string()))?;
        names::check(&set).map_err(|(file, what)| unusable(file.as_deref(), &what))?;
        let mut descriptor_set = descriptor_set;
        let mut renamed = false;
        for file in &mut set.file {
            let unique = json_names::make_unique(file);
            renamed |= unique.map_err(|what| unusable(file.name.as_deref(), &what))?;
        }
        if renamed {
            descriptor_set = set.encode_to_vec();
        }
        names::leave_out_message_set_extensions(&mut set);
        let has_any = names::has_any(&set);
        if has_any {
            names::add_well_known(&mut set);
        }
        let pool = DescriptorPool::new(set).map_err(|error| unusable(None, &error.to_string()))?;
        let mut fields = pool.messages().iter().flat_map(|message| message.fields());
        let has_required = fields.any(|f| f.presence() == FieldPresence::LegacyRequired);
        Ok(Self {
            pool: Arc::new(pool),
            descriptor_set,
            has_required,
            has_any,
            by_proto_names: OnceLock::new(),
            unknown_fields: AtomicBool::new(false),
        })
    }

    /// Returns the message with the .proto file's field names as its JSON names.
    pub(crate) fn by_proto_names(
        &self,
        message: &DynamicMessage,
    ) -> Result<DynamicMessage, String> {
        let pool = self.by_proto_names.get_or_init(|| {
            let mut set = FileDescriptorSet {
                file: self.pool.files().to_vec(),
                ..Default::default()
            };
            for file in &mut set.file {
                names::change_fields(file, &|field| field.json_name.clone_from(&field.name));
            }
            Arc::new(DescriptorPool::new(set).expect("names of fields are unique"))
        });
        let bytes = message.try_encode_to_vec().map_err(|e| e.to_string())?;
        let levels = DecodeOptions::new().with_recursion_limit(u32::MAX);
        DynamicMessage::decode_with_options(pool.clone(), message.message_index(), &bytes, &levels)
            .map_err(|e| e.to_string())
    }

    /// Returns the path to the first required field (proto2) that is missing.
    pub(crate) fn missing_required(&self, message: &DynamicMessage) -> Option<String> {
        if !self.has_required {
            return None;
        }
        let found = path::find_in(message, &|message| {
            let fields = message.message_descriptor().fields().iter();
            fields
                .filter(|field| field.presence() == FieldPresence::LegacyRequired)
                .find(|field| message.field_by_number(field.number()).is_none())
                .map(|field| (Some(field.json_name()), ()))
        });
        found.map(|(path, ())| path)
    }
}
