package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
)

// documentPlayer executes the steps about documents.
type documentPlayer struct{ *comparison }

func (p *documentPlayer) put(e Engine, s step) error {
	d := store.Document{Data: []byte(s.Text)}
	d.Collection, d.Name = s.document()
	if m := p.model.document(d.Collection, d.Name); m != nil {
		d.Version = m.Version
	}
	switch s.Wrong {
	case 1:
		d.Version++
	case 2:
		d.Version = 0
	case 3:
		d.Data = make([]byte, modelLimits().DocumentBytes+1)
	}
	if s.N%3 == 0 {
		d.TTL = p.ttl(s.N)
	}
	got, gotErr := e.Documents.Put(p.ctx, d)
	want, wantErr := p.model.put(d)
	return compareResults("Put", got, want, gotErr, wantErr)
}

func (p *documentPlayer) get(e Engine, s step) error {
	c, n := s.document()
	got, gotErr := e.Documents.Get(p.ctx, c, n)
	want, wantErr := p.model.get(c, n)
	return compareResults("Get", p.comparable(got), p.comparable(want), gotErr, wantErr)
}

// comparable returns a document without the values that depend on the engine's clock.
func (p *documentPlayer) comparable(d store.Document) store.Document {
	if p.env.Virtual {
		d.TTL = d.TTL.Truncate(time.Second)
	} else if d.TTL > 0 {
		d.TTL = 1
	}
	return d
}

func (p *documentPlayer) remove(e Engine, s step) error {
	c, n := s.document()
	version := uint64(1)
	if m := p.model.document(c, n); m != nil {
		version = m.Version
	}
	if s.Wrong > 0 {
		version++
	}
	return compareResults("Remove", nil, nil, e.Documents.Remove(p.ctx, c, n, version), p.model.remove(c, n, version))
}

func (p *documentPlayer) list(e Engine, s step) error {
	c, _ := s.document()
	var got, want []store.Document
	for after := ""; ; {
		page, err := e.Documents.Documents(p.ctx, c, after, 1+s.N%3)
		if err != nil {
			return fmt.Errorf("Documents: %w", err)
		}
		for _, d := range page.Items {
			got = append(got, p.comparable(d))
		}
		if after = page.Next; after == "" {
			break
		}
	}
	for _, d := range p.model.collection(c) {
		want = append(want, p.comparable(d))
	}
	byName := func(a, b store.Document) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(got, byName)
	slices.SortFunc(want, byName)
	return compareResults("Documents", got, want, nil, nil)
}
