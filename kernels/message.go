package kernels

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Channels of a kernel.
const (
	channelShell   = "shell"
	channelControl = "control"
	channelStdin   = "stdin"
	channelIOPub   = "iopub"
)

// Header identifies a message.
type Header struct {
	ID       string `json:"msg_id"`
	Type     string `json:"msg_type"`
	Username string `json:"username"`
	Session  string `json:"session"`
	Date     string `json:"date"`
	Version  string `json:"version"`
}

// Message is a message from or to a kernel. Buffers of widgets are dropped.
type Message struct {
	Channel string
	Header  Header
	// Parent is the header of the request that caused the message. It is empty for messages of the kernel itself.
	Parent  Header
	Content json.RawMessage
	// Cut is the number of bytes of a message that were too many to be read. Content is its beginning then, as complete
	// JSON, or empty.
	Cut int64
}

// subprotocol is the wire format with binary frames. Without it frames are JSON.
const subprotocol = "v1.kernel.websocket.jupyter.org"

// protocolVersion is the version of the messaging protocol that requests name.
const protocolVersion = "5.3"

// jsonFrame is a message as a text frame.
type jsonFrame struct {
	Channel  string          `json:"channel"`
	Header   Header          `json:"header"`
	Parent   json.RawMessage `json:"parent_header"`
	Metadata json.RawMessage `json:"metadata"`
	Content  json.RawMessage `json:"content"`
	Buffers  []string        `json:"buffers"`
}

var emptyObject = json.RawMessage("{}")

var errFrame = errors.New("the frame is no message of a kernel")

// encode returns a message as a frame.
func encode(m Message, v1 bool) ([]byte, error) {
	parent := emptyObject
	if m.Parent.ID != "" {
		var err error
		if parent, err = json.Marshal(m.Parent); err != nil {
			return nil, fmt.Errorf("parent header: %w", err)
		}
	}
	if !v1 {
		frame, err := json.Marshal(jsonFrame{Channel: m.Channel, Header: m.Header, Parent: parent, Metadata: emptyObject, Content: m.Content, Buffers: []string{}})
		if err != nil {
			return nil, fmt.Errorf("message: %w", err)
		}
		return frame, nil
	}
	header, err := json.Marshal(m.Header)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	parts := [][]byte{[]byte(m.Channel), header, parent, emptyObject, m.Content}
	at := 8 * (2 + len(parts)) // the number of offsets, and one offset more than parts
	frame := binary.LittleEndian.AppendUint64(nil, uint64(len(parts)+1))
	for _, p := range parts {
		frame = binary.LittleEndian.AppendUint64(frame, uint64(at))
		at += len(p)
	}
	frame = binary.LittleEndian.AppendUint64(frame, uint64(at))
	return append(frame, bytes.Join(parts, nil)...), nil
}

// maxOffsets bounds the parts of a frame.
const maxOffsets = 1024

// decode reads a frame. size is the size of the whole frame; data is shorter if it was cut.
func decode(data []byte, binaryFrame, v1 bool, size int64) (Message, error) {
	switch {
	case v1:
		return decodeV1(data, size)
	case binaryFrame:
		return decodeBinary(data, size)
	}
	return decodeJSON(data, size)
}

// decodeV1 reads a frame of the binary format: offsets, and then the parts between them.
func decodeV1(data []byte, size int64) (Message, error) {
	if len(data) < 8 {
		return Message{}, errFrame
	}
	n := binary.LittleEndian.Uint64(data)
	if n < 6 || n > maxOffsets || uint64(len(data)) < 8*(n+1) {
		return Message{}, errFrame
	}
	offset := func(i int) uint64 { return binary.LittleEndian.Uint64(data[8*(i+1):]) }
	part := func(i int) ([]byte, bool) {
		from, to := offset(i), offset(i+1)
		if from > to || to > uint64(len(data)) {
			return nil, false
		}
		return data[from:to], true
	}
	channel, ok := part(0)
	header, hasHeader := part(1)
	parent, hasParent := part(2)
	if !ok || !hasHeader || !hasParent {
		return Message{}, errFrame
	}
	m := Message{Channel: string(channel)}
	if json.Unmarshal(header, &m.Header) != nil || json.Unmarshal(parent, &m.Parent) != nil {
		return Message{}, errFrame
	}
	content, complete := part(4)
	if !complete {
		if size <= int64(len(data)) {
			return Message{}, errFrame
		}
		from := min(offset(4), uint64(len(data)))
		m.Content, m.Cut = beginningOf(data[from:], size-int64(from)) //nolint:gosec // at most the length of data
		return m, nil
	}
	m.Content = bytes.Clone(content) // without the buffers of the frame
	return m, nil
}

// decodeBinary reads a frame of the JSON format that has buffers: big-endian offsets, then JSON, then buffers.
func decodeBinary(data []byte, size int64) (Message, error) {
	if len(data) < 8 {
		return Message{}, errFrame
	}
	n := binary.BigEndian.Uint32(data)
	if n < 1 || n > maxOffsets || uint64(len(data)) < 4*(uint64(n)+1) {
		return Message{}, errFrame
	}
	from, to := uint64(binary.BigEndian.Uint32(data[4:])), uint64(len(data))
	if n > 1 {
		to = min(to, uint64(binary.BigEndian.Uint32(data[8:])))
	}
	if from > to {
		return Message{}, errFrame
	}
	return decodeJSON(data[from:to], size)
}

// decodeJSON reads a JSON object. Of one that was cut it reads the headers, which come first.
func decodeJSON(data []byte, size int64) (Message, error) {
	var f struct {
		Channel string          `json:"channel"`
		Header  Header          `json:"header"`
		Parent  Header          `json:"parent_header"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(data, &f); err == nil {
		return Message{Channel: f.Channel, Header: f.Header, Parent: f.Parent, Content: f.Content}, nil
	}
	if size <= int64(len(data)) {
		return Message{}, errFrame
	}
	m := Message{Cut: size}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return Message{}, errFrame
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			break
		}
		if key == "content" {
			from := d.InputOffset()
			m.Content, m.Cut = beginningOf(bytes.TrimLeft(data[from:], ": "), size-from)
			break
		}
		var into any = new(json.RawMessage)
		switch key {
		case "header":
			into = &m.Header
		case "parent_header":
			into = &m.Parent
		}
		if d.Decode(into) != nil {
			break
		}
	}
	if m.Header.ID == "" {
		return Message{}, errFrame
	}
	m.Channel = channelIOPub // it comes last, and was cut
	switch {
	case strings.HasSuffix(m.Header.Type, "_reply"):
		m.Channel = channelShell
	case m.Header.Type == "input_request":
		m.Channel = channelStdin
	}
	return m, nil
}

// maxBeginning bounds what is kept of a content that was cut. It is more than the outputs of an execution may have.
const maxBeginning = 1 << 20

// beginningOf returns the beginning of a JSON object of the given size as a complete object, and the number of bytes that are
// missing. An object that ends at another place than in a string has no beginning.
func beginningOf(data []byte, size int64) (json.RawMessage, int64) {
	data = data[:min(len(data), maxBeginning)]
	var closers []byte
	text, escape := false, 0 // within a text; the bytes of an escape sequence so far
	for _, c := range data {
		switch {
		case text && escape == 1 && c == 'u':
			escape = 2
		case text && escape >= 2 && escape < 5:
			escape++
		case text && escape == 1, text && escape == 5:
			escape = 0
		case text && c == '\\':
			escape = 1
		case c == '"':
			text = !text
		case text:
		case c == '{':
			closers = append(closers, '}')
		case c == '[':
			closers = append(closers, ']')
		case (c == '}' || c == ']') && len(closers) > 0:
			closers = closers[:len(closers)-1]
		}
	}
	if !text {
		return nil, size
	}
	kept := data[:len(data)-escape]
	whole := append(bytes.ToValidUTF8(kept, nil), '"')
	slices.Reverse(closers)
	if whole = append(whole, closers...); !json.Valid(whole) {
		return nil, size
	}
	return whole, size - int64(len(kept))
}
