package redisstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// reference is what Redis has instead of the pack of a cold session: the object that has the pack.
type reference struct {
	name string
	size int64
	sum  string // SHA-256 of the pack
}

// referenceForm is the first byte of a reference, as packForm is that of a pack.
const referenceForm = 2

// referenceVersion is a version that no other value has: programs that do not know references refuse a cold
// session as a newer one and do not take it for a damaged one.
const referenceVersion = 3

// referenceSchema seals references.
var referenceSchema = store.Schema{Version: referenceVersion}

// maxObjectBytes bounds an object. Compressed packs are hardly larger than their content.
const maxObjectBytes = 2 * maxPackedBytes

var errNoObjects = fmt.Errorf("%w: this program has no storage for cold sessions", store.ErrUnavailable)

func newReference(name, pack string) reference {
	sum := sha256.Sum256([]byte(pack))
	return reference{name: name, size: int64(len(pack)), sum: hex.EncodeToString(sum[:])}
}

// seal returns what Redis stores.
func (r reference) seal() []byte {
	data := append([]byte{referenceForm}, r.name+" "+strconv.FormatInt(r.size, 10)+" "+r.sum...)
	return referenceSchema.Seal(nil, data)
}

// isReference reports whether a value is a reference and not a pack. The value may be damaged.
func isReference(value string) bool {
	return len(value) > 5 && value[0] == referenceVersion && value[5] == referenceForm
}

func parseReference(session wire.SessionID, value string) (reference, error) {
	data, err := referenceSchema.Open(store.KindPack, string(session), []byte(value))
	if err != nil {
		return reference{}, err
	}
	words := strings.Split(string(data[1:]), " ")
	if len(words) == 3 {
		size, err := strconv.ParseInt(words[1], 10, 64)
		if err == nil && size >= 0 && size <= maxObjectBytes {
			return reference{name: words[0], size: size, sum: words[2]}, nil
		}
	}
	return reference{}, &store.CorruptError{Where: "pack of session " + string(session), Reason: "not a reference to an object"}
}

// value returns the pack of a session, or the reference to it, or nothing if there is none.
func (p *packer) value(ctx context.Context, session wire.SessionID) (value string, err error) {
	key := p.keys.session(session).pack()
	err = p.runOnServer(ctx, "read pack of session "+string(session), retryable, key, func(ctx context.Context, server *redis.Client) error {
		var err error
		if value, err = server.Get(ctx, key).Result(); errors.Is(err, redis.Nil) {
			value, err = "", nil
		}
		return err
	})
	if err != nil {
		return "", p.calls.sessionError(ctx, session, err)
	}
	return value, nil
}

// resolve returns the pack that a value from Redis is or refers to, and the name of the object. It is
// [*store.CorruptError] if the object is missing or is not the one that was written.
func (p *packer) resolve(ctx context.Context, session wire.SessionID, value string) (pack, object string, err error) {
	if !isReference(value) {
		return value, "", nil
	}
	ref, err := parseReference(session, value)
	if err != nil {
		return "", "", err
	}
	if p.objects == nil {
		return "", "", errNoObjects
	}
	limited, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	data, err := p.objects.Get(limited, session, ref.name, ref.size+1)
	where := "object " + ref.name + " of cold session " + string(session)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", p.missing(ctx, session, value, where)
	case err != nil:
		p.cfg.Observer.ColdFailed("unavailable")
		return "", "", fmt.Errorf("read %s: %w: %w", where, store.ErrUnavailable, err)
	case newReference(ref.name, string(data)) != ref:
		p.cfg.Observer.ColdFailed("damaged")
		return "", "", &store.CorruptError{Where: where, Reason: fmt.Sprintf("%d bytes with another checksum, want the %d bytes that were written", len(data), ref.size)}
	}
	if !p.storage.confirmed.Load() {
		// Versions without ids have made sessions cold, too. The next session that is read or moved tries
		// again, so a failure does not matter.
		_ = p.storage.record(ctx)
	}
	return string(data), ref.name, nil
}

// missing returns the error for an object that does not exist. The session may have come back or
// been deleted since its reference was read.
func (p *packer) missing(ctx context.Context, session wire.SessionID, value, where string) error {
	now, err := p.value(ctx, session)
	if err != nil {
		return err
	}
	if now == value {
		if err := p.storage.confirmObjects(ctx); err != nil {
			p.cfg.Observer.ColdFailed("unavailable")
			return fmt.Errorf("read %s: %w", where, err)
		}
		p.cfg.Observer.ColdFailed("missing")
		return &store.CorruptError{Where: where, Reason: "missing in the file storage"}
	}
	return fmt.Errorf("read %s: %w: the session has changed meanwhile", where, store.ErrUnavailable)
}
