package settings

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everdesk/everdesk/notices"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Change is a change of one setting.
type Change struct {
	Name string
	// Value is the new value; null or nothing removes the value of the scope.
	Value json.RawMessage
	// Was, unless empty, is the effective value that the author of the change saw. If it is no
	// longer the value, the change is refused as a conflict.
	Was json.RawMessage
}

// Outcome is the result of changes.
type Outcome struct {
	// Values are the effective values after the changes.
	Values Values
	// Refused are the changes that had no effect.
	Refused []*Refusal
}

// Change changes values of a subject in its narrowest scope. by is who asks: ByAdmin may change
// everything, ByUser only what [Setting.ChangedBy] allows. Refused changes are in the outcome; the
// error is the store's.
func (s *Store) Change(ctx context.Context, of Subject, by Changer, changes []Change) (Outcome, error) {
	var all Outcome
	for _, p := range places() {
		if p.scope != of.scope() {
			continue
		}
		here := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return s.byName[c.Name].Early != p.early && p.scope == ScopeUser })
		if len(here) == 0 {
			continue
		}
		out, err := s.changeDocument(ctx, of, p, by, here)
		if err != nil {
			return Outcome{}, err
		}
		all = Outcome{Values: out.Values, Refused: append(all.Refused, out.Refused...)}
	}
	return all, nil
}

// changeDocument applies changes to the document of one place.
func (s *Store) changeDocument(ctx context.Context, of Subject, in place, by Changer, changes []Change) (Outcome, error) {
	for {
		all, err := s.layers(ctx, of)
		if err != nil {
			return Outcome{}, err
		}
		target := all[slices.IndexFunc(all, func(l layer) bool { return l.place == in })]
		var out Outcome
		var changed []string
		for _, c := range changes {
			if refusal := s.apply(c, by, target, all); refusal != nil {
				out.Refused = append(out.Refused, refusal)
			} else {
				changed = append(changed, c.Name)
			}
		}
		out.Values = s.values(all)
		if len(changed) == 0 {
			return out, nil
		}
		_, err = s.docs.Put(ctx, store.Document{
			Collection: in.collection, Name: target.name, Version: target.version, Data: encode(target.values),
		})
		if err == nil {
			s.Publish(ctx, of, changed)
			return out, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return Outcome{}, fmt.Errorf("change settings: %w", err)
		}
		// Each conflict is a change of the same owner; the caller's context bounds the retries.
	}
}

// apply applies a change to the target, which is one of the layers, unless it is refused.
func (s *Store) apply(c Change, by Changer, target layer, all []layer) *Refusal {
	setting, known := s.byName[c.Name]
	state := s.state(setting, all)
	switch {
	case !known:
		return &Refusal{Name: c.Name, Code: CodeUnknown, Detail: "there is no such setting"}
	case setting.Secret:
		return setting.refuse(CodeSecret, "set it as a secret")
	case !setting.allows(target.place.scope):
		return setting.refuse(CodeScope, "it has no value for a %s", target.place.scope)
	case by != ByAdmin && (setting.ChangedBy == ByAdmin || target.place.scope == ScopeHub):
		return setting.refuse(CodeForbidden, "only an administrator changes it")
	case state.Source == FromPin:
		return setting.refuse(CodePinned, "the operator has set it: %s", state.Pinned)
	}
	if len(c.Was) > 0 {
		if was, refusal := setting.Check(c.Was); refusal != nil || !bytes.Equal(was, state.Value) {
			return setting.refuse(CodeConflict, "it was changed meanwhile")
		}
	}
	if len(c.Value) == 0 || string(bytes.TrimSpace(c.Value)) == "null" {
		delete(target.values, c.Name)
		return nil
	}
	value, refusal := setting.Check(c.Value)
	if refusal != nil {
		return refusal
	}
	target.values[c.Name] = value
	return nil
}

// Changed says which settings of a subject may have changed.
type Changed struct {
	Scope   Scope          `json:"scope"`
	User    string         `json:"user,omitempty"`
	Session wire.SessionID `json:"session,omitempty"`
	Names   []string       `json:"names"`
	At      time.Time      `json:"at"`
}

// Publish makes [Store.Watch] deliver on all replicas that values of a subject have changed in its
// narrowest scope. If the store fails, tabs show the change only when they read the values again.
func (s *Store) Publish(ctx context.Context, of Subject, names []string) {
	s.publish(ctx, of, "", names)
}

// AppDataPrefix begins the names under which changes of apps and their data are published, followed by the id of the app, a
// slash and the name of the file, which is empty for the app itself.
const AppDataPrefix = "appData/"

// maxAppData bounds the files in one notice.
const maxAppData = 200

// PublishApp makes [Store.Watch] deliver on all replicas that an app of a user was deployed or removed.
func (s *Store) PublishApp(ctx context.Context, user, app string) {
	s.publish(ctx, Subject{User: user}, "-apps", []string{AppDataPrefix + app + "/"})
}

// PublishAppData makes [Store.Watch] deliver on all replicas that a file of an app of a user has changed. These
// notices are apart from the others, because apps may write often.
func (s *Store) PublishAppData(ctx context.Context, user, app, file string) {
	s.publish(ctx, Subject{User: user}, "-data", []string{AppDataPrefix + app + "/" + file})
}

func (s *Store) publish(ctx context.Context, of Subject, topic string, names []string) {
	now := Changed{Scope: of.scope(), User: of.User, Session: of.Session, Names: names, At: time.Now()}
	owner := sha256.Sum256([]byte(of.document(now.Scope)))
	err := s.board.Publish(ctx, string(now.Scope)+"-"+hex.EncodeToString(owner[:16])+topic, func(before []byte) []byte {
		var last Changed
		merged := now
		if json.Unmarshal(before, &last) == nil && (topic == "" || len(last.Names) < maxAppData) { // a replica may not have seen it yet
			merged.Names = append(slices.Clone(now.Names), last.Names...)
		}
		slices.Sort(merged.Names)
		merged.Names = slices.Compact(merged.Names)
		return encode(merged)
	})
	if err != nil {
		s.log.WarnContext(ctx, "publishing changed settings failed", "scope", now.Scope, "err", err)
	}
}

// Watch calls onChanged for each change, whichever replica it was made on, until ctx ends. It calls
// from the caller's goroutine, within a second of the change.
func (s *Store) Watch(ctx context.Context, onChanged func(Changed)) {
	s.board.Watch(ctx, notices.Watcher{
		Notice: func(data []byte, _ bool) {
			var c Changed
			if err := json.Unmarshal(data, &c); err != nil {
				s.log.ErrorContext(ctx, "notice of changed settings is unreadable", "err", err)
				return
			}
			onChanged(c)
		},
		Failed:  func(err error) { s.log.WarnContext(ctx, "watching changed settings failed", "err", err) },
		Resumed: func() { s.log.InfoContext(ctx, "watching changed settings resumed") },
	})
}
