package bind

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"rpcgauge/subjects/go/internal/settings"
)

// Workload is the workload in the settings, with the generated code of its method.
type Workload struct {
	Method
	// REST is the path of the REST resource.
	REST string
	// Proto and Plain create the handlers for a server, ProtoSeries and PlainSeries those for streams.
	Proto       func() (ProtoHandler, error)
	Plain       func() (PlainHandler, error)
	ProtoSeries func() (ProtoSeries, error)
	PlainSeries func() (PlainSeries, error)

	noPlain string
}

// Find looks up the workload in the set, with its method for calls that stream in a form; empty for unary calls.
func (s *Set) Find(asked *settings.Workload, form string) (*Workload, error) {
	path, service := "/"+asked.Method, Service{}
	if asked.Name != "own" {
		known, ok := s.Services[asked.Name]
		if !ok {
			return nil, settings.Refuse(settings.User, "there is no workload %q in this set of messages", asked.Name)
		}
		path, service = known.Method, known
		if form != "" {
			if path, ok = known.Streams[form]; !ok {
				return nil, settings.Refuse(settings.User, "the workload %s has no method for %s streams", asked.Name, form)
			}
		}
	}
	for _, method := range s.Methods {
		if method.Path != path {
			continue
		}
		found := &Workload{Method: method, REST: service.Path, noPlain: s.NoPlain}
		if asked.Name == "own" {
			found.REST = path
			found.Proto = func() (ProtoHandler, error) { return found.ownProto(asked) }
			found.Plain = func() (PlainHandler, error) { return found.ownPlain(asked) }
			found.ProtoSeries = func() (ProtoSeries, error) { return found.ownProtoSeries(asked) }
			found.PlainSeries = func() (PlainSeries, error) { return found.ownPlainSeries(asked) }
			return found, nil
		}
		found.Proto = func() (ProtoHandler, error) { return service.Proto(asked.Count()) }
		found.Plain = func() (PlainHandler, error) { return service.Plain(asked.Count()) }
		found.ProtoSeries = func() (ProtoSeries, error) { return service.ProtoSeries(), nil }
		found.PlainSeries = func() (PlainSeries, error) { return service.PlainSeries(), nil }
		return found, nil
	}
	return nil, settings.Refuse(settings.Instrument, "the set of messages was generated without %s", path)
}

func (w *Workload) ownProto(asked *settings.Workload) (ProtoHandler, error) {
	response, err := w.ProtoMessage("response", asked.Response)
	if err != nil {
		return nil, err
	}
	return func(proto.Message) (proto.Message, error) { return response, nil }, nil
}

func (w *Workload) ownPlain(asked *settings.Workload) (PlainHandler, error) {
	response, err := w.PlainMessage("response", asked.Response)
	if err != nil {
		return nil, err
	}
	return func(any) (any, error) { return response, nil }, nil
}

// ownProtoSeries responds with the given message each time.
func (w *Workload) ownProtoSeries(asked *settings.Workload) (ProtoSeries, error) {
	handle, err := w.ownProto(asked)
	return func(request proto.Message, _ int) (proto.Message, error) { return handle(request) }, err
}

func (w *Workload) ownPlainSeries(asked *settings.Workload) (PlainSeries, error) {
	handle, err := w.ownPlain(asked)
	return func(request any, _ int) (any, error) { return handle(request) }, err
}

// CanCall refuses calls that stream in another form than the method; the form is empty for unary calls.
func (w *Workload) CanCall(form string) error {
	if form == w.Stream {
		return nil
	}
	return settings.Refuse(settings.User, "the method %s has %s, and the calls have %s", w.Path, streamsOf(w.Stream),
		streamsOf(form))
}

func streamsOf(form string) string {
	if form == "" {
		return "no streams"
	}
	return form + " streams"
}

// New returns an empty request or response.
func (w *Workload) New(sample string) proto.Message {
	if sample == "request" {
		return w.NewRequest()
	}
	return w.NewResponse()
}

// NewPlain returns an empty request or response for encoding/json.
func (w *Workload) NewPlain(sample string) any {
	if sample == "request" {
		return w.NewPlainRequest()
	}
	return w.NewPlainResponse()
}

// ProtoMessage converts a sample in the proto3 JSON mapping to a message.
func (w *Workload) ProtoMessage(sample string, text []byte) (proto.Message, error) {
	message := w.New(sample)
	if err := protojson.Unmarshal(text, message); err != nil {
		return nil, settings.Refuse(settings.User, "the %s is not a %s: %v", sample,
			message.ProtoReflect().Descriptor().FullName(), err)
	}
	return message, nil
}

// PlainMessage converts a sample in the proto3 JSON mapping to a value for encoding/json. A sample may use every form
// that the mapping allows, so protobuf's own reader reads it first.
func (w *Workload) PlainMessage(sample string, text []byte) (any, error) {
	if w.noPlain != "" {
		return nil, settings.Refuse(settings.User, "%s", w.noPlain)
	}
	if plain := w.NewPlain(sample); decodeStrict(text, plain) == nil {
		// The sample, which may be long, already has the form that the types write themselves.
		return plain, nil
	}
	message, err := w.ProtoMessage(sample, text)
	if err != nil {
		return nil, err
	}
	text, err = protojson.Marshal(message)
	if err == nil {
		text, err = withNumbers(text, message.ProtoReflect().Descriptor())
	}
	plain := w.NewPlain(sample)
	if err == nil {
		// An extension is not a field of any type.
		err = decodeStrict(text, plain)
	}
	if err != nil {
		return nil, settings.Refuse(settings.User, "the %s does not fit the types for encoding/json: %v", sample, err)
	}
	return plain, nil
}

// decodeStrict refuses unknown names.
func decodeStrict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// withNumbers converts the 64-bit integers of a message in JSON from strings to numbers.
func withNumbers(text []byte, of protoreflect.MessageDescriptor) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(numbered(value, of))
}

func numbered(value any, of protoreflect.MessageDescriptor) any {
	switch of.FullName() {
	case "google.protobuf.Int64Value", "google.protobuf.UInt64Value":
		return numberedOne(value, of.Fields().ByName("value"))
	}
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	for name, value := range object {
		field := of.Fields().ByJSONName(name)
		if field == nil {
			continue
		}
		if field.IsMap() {
			field = field.MapValue()
		}
		object[name] = numberedField(value, field)
	}
	return object
}

func numberedField(value any, field protoreflect.FieldDescriptor) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = numberedField(value[i], field)
		}
	case map[string]any:
		if field.ContainingMessage().IsMapEntry() {
			for key := range value {
				value[key] = numberedOne(value[key], field)
			}
			return value
		}
		return numberedOne(value, field)
	case string:
		return numberedOne(value, field)
	}
	return value
}

func numberedOne(value any, field protoreflect.FieldDescriptor) any {
	switch field.Kind() {
	case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind,
		protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		if text, ok := value.(string); ok {
			return json.Number(text)
		}
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return numbered(value, field.Message())
	}
	return value
}
