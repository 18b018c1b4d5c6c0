package fakemodel

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Bounds of the caches of model servers, as their documentation gives them.
const (
	minCached   = 1024 // tokens of the shortest cached prefix
	cacheStep   = 128  // tokens by which an automatically cached prefix grows
	maxMarks    = 4    // cache_control marks of a request
	maxLookback = 20   // blocks before a mark at which a cached prefix is looked for
	tokenBytes  = 4    // bytes of a token
)

// Use is the number of input tokens of a request, by the way they are billed.
type Use struct {
	// Input counts tokens that are neither read from nor written to the cache.
	Input, CacheRead, CacheWrite int
}

// Total returns all input tokens.
func (u Use) Total() int { return u.Input + u.CacheRead + u.CacheWrite }

// prefixCache caches the beginnings of requests as the vendors do: the Messages API up to the
// marks in the request, the others in steps. Nothing expires.
type prefixCache struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]bool
}

var errMarks = errors.New("a request may have at most 4 blocks with cache_control")

// count returns the use of a request and caches its beginning.
func (c *prefixCache) count(path string, body []byte) (Use, error) {
	var r struct {
		Model        json.RawMessage   `json:"model"`
		Tools        []json.RawMessage `json:"tools"`
		System       []json.RawMessage `json:"system"`
		Instructions json.RawMessage   `json:"instructions"`
		Input        []json.RawMessage `json:"input"`
		Messages     []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return Use{}, fmt.Errorf("read the request: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if path == "/messages" {
		parts := slices.Concat(r.Tools, r.System)
		for _, m := range r.Messages {
			var one struct {
				Role    json.RawMessage   `json:"role"`
				Content []json.RawMessage `json:"content"`
			}
			if err := json.Unmarshal(m, &one); err != nil {
				return Use{}, fmt.Errorf("read a message: %w", err)
			}
			for _, b := range one.Content {
				parts = append(parts, append(bytes.Clone(one.Role), b...))
			}
		}
		return c.countMarked(r.Model, parts)
	}
	var text []byte
	for _, part := range slices.Concat([]json.RawMessage{r.Model}, r.Tools, []json.RawMessage{r.Instructions}, r.Input, r.Messages) {
		text = append(text, part...)
	}
	return c.countSteps(text), nil
}

// cacheMark is a mark in a block of a request.
var cacheMark = []byte(`,"cache_control":{"type":"ephemeral"}`)

// countMarked counts as the Messages API does: a request writes up to its marks, and reads the
// longest cached prefix that ends at one of the blocks up to maxLookback before a mark.
func (c *prefixCache) countMarked(model []byte, parts []json.RawMessage) (Use, error) {
	hashes, sizes := make([][sha256.Size]byte, len(parts)), make([]int, len(parts))
	var marks []int
	sum, size := sha256.Sum256(model), 0
	for i, p := range parts {
		plain := bytes.Replace(p, cacheMark, nil, 1)
		if len(plain) < len(p) {
			marks = append(marks, i)
		}
		sum = sha256.Sum256(append(sum[:], plain...))
		size += len(plain)
		hashes[i], sizes[i] = sum, size/tokenBytes
	}
	if len(marks) > maxMarks {
		return Use{}, errMarks
	}
	read, written := 0, 0
	for _, at := range marks {
		for i := at; i >= 0 && i > at-maxLookback; i-- {
			if c.known[hashes[i]] {
				read = max(read, sizes[i])
				break
			}
		}
		if sizes[at] >= minCached {
			written = sizes[at]
		}
	}
	for _, at := range marks {
		if sizes[at] >= minCached {
			c.known[hashes[at]] = true
		}
	}
	u := Use{CacheRead: read, CacheWrite: max(written-read, 0)}
	u.Input = size/tokenBytes - u.CacheRead - u.CacheWrite
	return u, nil
}

// countSteps counts as servers do that cache by themselves.
func (c *prefixCache) countSteps(text []byte) Use {
	u := Use{}
	for n := minCached; n*tokenBytes <= len(text); n += cacheStep {
		sum := sha256.Sum256(text[:n*tokenBytes])
		if c.known[sum] {
			u.CacheRead = n
		}
		c.known[sum] = true
	}
	u.Input = len(text)/tokenBytes - u.CacheRead
	return u
}
