package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/wire"
)

// lockedLog is the last id of a stream that accepts no further entries with automatic ids.
const lockedLog = "18446744073709551615-18446744073709551615"

// corruptor damages stored data.
type corruptor struct {
	redis *redis.Client
	rng   *rand.Rand
}

// keys returns the matching keys, sorted.
func (v corruptor) keys(t *testing.T, pattern string) []string {
	t.Helper()
	all, err := v.redis.Keys(t.Context(), pattern).Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// sessionKeys returns the keys of a session.
func (v corruptor) sessionKeys(t *testing.T, id wire.SessionID) []string {
	t.Helper()
	return v.keys(t, "*:s:"+string(id)+":*")
}

// sharedKeys returns the keys that belong to no session.
func (v corruptor) sharedKeys(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(v.keys(t, "*"), func(key string) bool {
		return strings.Contains(key, "}:s:") || strings.Contains(key, "}:aside:")
	})
}

// backup returns copies of keys.
func (v corruptor) backup(t *testing.T, keys []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, key := range keys {
		value, err := v.redis.Dump(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		all[key] = value
	}
	return all
}

// restore restores the keys of a session.
func (v corruptor) restore(t *testing.T, id wire.SessionID, backup map[string]string) {
	t.Helper()
	pipe := v.redis.TxPipeline()
	pipe.Del(t.Context(), v.sessionKeys(t, id)...)
	for key, value := range backup {
		pipe.Restore(t.Context(), key, 0, value)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// replaceValue puts a string in place of a value of another type.
func (v corruptor) replaceValue(t *testing.T, key string) {
	t.Helper()
	pipe := v.redis.TxPipeline()
	pipe.Del(t.Context(), key)
	if v.rng.IntN(4) == 0 {
		pipe.SAdd(t.Context(), key, "not", "ours")
	} else {
		pipe.Set(t.Context(), key, "not ours", 0)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// flipBit returns a text with one bit changed.
func (v corruptor) flipBit(text string) string {
	b := []byte(text)
	if len(b) == 0 {
		return "x"
	}
	b[v.rng.IntN(len(b))] ^= 1 << v.rng.IntN(8)
	return string(b)
}

// corruptValue changes one bit of a value and returns which.
func (v corruptor) corruptValue(t *testing.T, key string) string {
	t.Helper()
	ctx := t.Context()
	kind, err := v.redis.Type(ctx, key).Result()
	if err != nil {
		t.Fatal(err)
	}
	switch kind {
	case "hash":
		fields, err := v.redis.HKeys(ctx, key).Result()
		if err != nil || len(fields) == 0 {
			t.Fatalf("fields of %s: got %v, error %v, want at least one", key, fields, err)
		}
		slices.Sort(fields)
		field := fields[v.rng.IntN(len(fields))]
		value, err := v.redis.HGet(ctx, key, field).Result()
		if err == nil {
			err = v.redis.HSet(ctx, key, field, v.flipBit(value)).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		return field
	case "list":
		n, err := v.redis.LLen(ctx, key).Result()
		if err != nil || n == 0 {
			t.Fatalf("items of %s: got %d, error %v, want at least one", key, n, err)
		}
		at := v.rng.Int64N(n)
		value, err := v.redis.LIndex(ctx, key, at).Result()
		if err == nil {
			err = v.redis.LSet(ctx, key, at, v.flipBit(value)).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatInt(at, 10)
	case "stream":
		return v.corruptEntry(t, key)
	case "set", "zset":
		// A member with an unknown name.
		if kind == "set" {
			err = v.redis.SAdd(ctx, key, "t:no one's").Err()
		} else {
			err = v.redis.ZAdd(ctx, key, redis.Z{Score: 1, Member: "no-ones"}).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		return "member"
	default:
		v.replaceValue(t, key)
		return "all of it"
	}
}

// corruptEntry changes one bit of an entry of a stream, which has to be written again for that.
func (v corruptor) corruptEntry(t *testing.T, key string) string {
	t.Helper()
	ctx := t.Context()
	entries, err := v.redis.XRange(ctx, key, "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		if err := v.redis.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []string{"id", "x", "d", "not ours"}}).Err(); err != nil {
			t.Fatal(err)
		}
		return "an entry of an empty log"
	}
	victim := v.rng.IntN(len(entries))
	pipe := v.redis.TxPipeline()
	pipe.Del(ctx, key)
	for i, e := range entries {
		for name, value := range e.Values {
			if text, ok := value.(string); ok && i == victim && (len(e.Values) == 1 || name == "d") {
				e.Values[name] = v.flipBit(text)
			}
		}
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: key, ID: e.ID, Values: e.Values})
	}
	if strings.HasSuffix(key, ":log") {
		pipe.Do(ctx, "xsetid", key, lockedLog)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("entry %d of %d", victim+1, len(entries))
}
