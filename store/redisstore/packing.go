package redisstore

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/everdesk/everdesk/store"
)

// packed is the content of a dormant session as its pack holds it: everything besides meta, in
// the form in which Redis has it.
type packed struct {
	log        []string // position and entry, in turn
	ids        []string // field and value of the hash, in turn
	done       []string
	structures []packedStructure
}

// packedStructure is a table or a list with the prefix of its name in Redis.
type packedStructure struct {
	name  string
	items []string // fields and values in turn, or items
}

// maxPackedBytes bounds the content of a session that is packed, before compression. A larger
// session stays as it is: packing it would block Redis for more than some milliseconds.
const maxPackedBytes = 2 << 20

// packForm is the first byte of a pack.
const packForm = 1

// deflaters holds idle compressors, which are large.
type deflaters struct{ pool sync.Pool }

// packSchema seals packs. They have a form of their own, so they do not depend on the schema of
// the values in them.
var packSchema = store.Schema{}

// encode returns the sealed pack.
func (d *deflaters) encode(p *packed) ([]byte, error) {
	var raw []byte
	for _, list := range [][]string{p.log, p.ids, p.done} {
		raw = appendTexts(raw, list)
	}
	raw = binary.AppendUvarint(raw, uint64(len(p.structures)))
	for _, s := range p.structures {
		raw = appendTexts(appendTexts(raw, []string{s.name}), s.items)
	}
	out := bytes.NewBuffer(binary.AppendUvarint([]byte{packForm}, uint64(len(raw))))
	w, ok := d.pool.Get().(*flate.Writer)
	if !ok {
		var err error
		if w, err = flate.NewWriter(out, flate.DefaultCompression); err != nil {
			return nil, err
		}
	}
	w.Reset(out)
	_, err := w.Write(raw)
	if err = cmp.Or(err, w.Close()); err != nil {
		return nil, err
	}
	d.pool.Put(w)
	return packSchema.Seal(nil, out.Bytes()), nil
}

func appendTexts(b []byte, texts []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(texts)))
	for _, t := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(t))), t...)
	}
	return b
}

var errPack = errors.New("not a pack")

// decodePack opens a sealed pack.
func decodePack(id, sealed string) (*packed, error) {
	data, err := packSchema.Open(store.KindPack, id, []byte(sealed))
	if err != nil {
		return nil, err
	}
	p, err := inflatePack(data)
	if err != nil {
		return nil, &store.CorruptError{Where: "pack of session " + id, Reason: err.Error()}
	}
	return p, nil
}

func inflatePack(data []byte) (*packed, error) {
	if len(data) == 0 || data[0] != packForm {
		return nil, errPack
	}
	size, n := binary.Uvarint(data[1:])
	if n <= 0 || size > 4*maxPackedBytes {
		return nil, errPack
	}
	raw := make([]byte, size)
	r := flate.NewReader(bytes.NewReader(data[1+n:]))
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, fmt.Errorf("inflate: %w", err)
	}
	t := &textReader{rest: string(raw)}
	p := &packed{log: t.texts(), ids: t.texts(), done: t.texts()}
	for range t.count() {
		name := t.texts()
		if len(name) != 1 || name[0] == "" {
			return nil, errPack
		}
		p.structures = append(p.structures, packedStructure{name: name[0], items: t.texts()})
	}
	if t.bad || t.rest != "" || len(p.log)%2 != 0 || len(p.ids)%2 != 0 {
		return nil, errPack
	}
	return p, nil
}

// textReader reads what appendTexts wrote.
type textReader struct {
	rest string
	bad  bool
}

// count reads a number of texts, of which each takes a byte at least.
func (t *textReader) count() int {
	n, k := binary.Uvarint([]byte(t.rest[:min(len(t.rest), binary.MaxVarintLen64)]))
	if k <= 0 || n > uint64(len(t.rest)) {
		t.rest, t.bad = "", true
		return 0
	}
	t.rest = t.rest[k:]
	return int(n) //nolint:gosec // at most the length of a string
}

func (t *textReader) texts() []string {
	all := make([]string, t.count())
	for i := range all {
		n := t.count()
		if n > len(t.rest) {
			t.rest, t.bad = "", true
			return nil
		}
		all[i], t.rest = t.rest[:n], t.rest[n:]
	}
	return all
}
