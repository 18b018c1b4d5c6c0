package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// linkPrefix begins the secret of every link, for the same reason as [keyPrefix].
	linkPrefix = "edl_"
	// momentLinkPrefix begins the secret of a link to one moment. It and the collection are its own, so that a hub
	// that knows no moments refuses these links instead of showing the whole session.
	momentLinkPrefix = "edo_"
	// MaxLinks bounds the valid links to a session as it goes on, and separately those to its moments.
	MaxLinks = 16
	// MinLinkLife is the shortest lifetime of a link.
	MinLinkLife = 5 * time.Minute
	// MaxLinkLife is the longest lifetime of a link.
	MaxLinkLife = 30 * 24 * time.Hour
	// MaxLinkLabel bounds the label of a link, in characters.
	MaxLinkLabel = 64
	// MaxLinkLabelBytes bounds the label in bytes: it is a part of the name of [Link.User], which has at most 256.
	MaxLinkLabelBytes = 200
	// LinkTokenLife is the lifetime of the token that a page gets for a link. The page gets another one
	// before it ends.
	LinkTokenLife = time.Hour
)

// ErrTooManyLinks means that a session has [MaxLinks] valid links of one kind.
var ErrTooManyLinks = fmt.Errorf("a session has at most %d links of a kind", MaxLinks)

// Link describes a read-only link to a session, without its secret: everyone who has it sees the session, or one
// moment of it.
type Link struct {
	ID      string    `json:"id"`
	Label   string    `json:"label,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	// At, unless zero, is the position of the only moment that the link shows, and Time is when that was.
	At   wire.Position `json:"at,omitzero"`
	Time time.Time     `json:"time,omitzero"`

	Session wire.SessionID `json:"-"`
}

// User is the name under which the people who opened the link are present. No lookup of rights uses it. The id is in
// it because rate limits and revocations go by the name.
func (l Link) User() string { return cmp.Or(l.Label, "guest") + " (link " + l.ID + ")" }

// Moment is the state of a session at one position. A link to a moment shows it instead of the session as it goes on.
// It is stored with the link, so the log may lose the events that made it.
type Moment struct {
	At   wire.Position
	Time time.Time
	// State is the state of the session in the encoding of the caller. The store bounds its size
	// ([store.ErrTooLarge]).
	State []byte
}

// storedLink is a link in the document of its session.
type storedLink struct {
	Link
	Hash []byte `json:"hash"`
}

func (l storedLink) credentialID() string { return l.ID }
func (l storedLink) expires() time.Time   { return l.Expires }
func (l storedLink) secretHash() []byte   { return l.Hash }

func (l storedLink) of(session wire.SessionID) storedLink {
	l.Session = session
	return l
}

// Links creates, checks and revokes the read-only links of sessions.
type Links struct {
	docs Documents
	// live are the links to sessions, moments those to single moments.
	live, moments sessionCredentials[storedLink]
}

func newLinks(docs Documents) *Links {
	stored := func(collection, prefix string) sessionCredentials[storedLink] {
		return sessionCredentials[storedLink]{docs: docs, collection: collection, prefix: prefix, limit: MaxLinks, errLimit: ErrTooManyLinks}
	}
	return &Links{docs: docs, live: stored(linkCollection, linkPrefix), moments: stored(momentLinkCollection, momentLinkPrefix)}
}

// Create creates a link to a session, valid for life. Its secret has the form edl_SESSION_ID_SECRET. Only the
// hash is stored.
func (links *Links) Create(ctx context.Context, session wire.SessionID, label string, life time.Duration) (secret string, _ Link, err error) {
	return links.create(ctx, session, label, life, nil)
}

// CreateOfMoment is [Links.Create] for a link that shows one moment of the session and nothing else.
func (links *Links) CreateOfMoment(ctx context.Context, session wire.SessionID, label string, life time.Duration, m Moment) (secret string, _ Link, err error) {
	if m.At.IsZero() {
		return "", Link{}, fmt.Errorf("%w: a link to a moment without a position", store.ErrInvalid)
	}
	return links.create(ctx, session, label, life, &m)
}

func (links *Links) create(ctx context.Context, session wire.SessionID, label string, life time.Duration, m *Moment) (secret string, _ Link, err error) {
	if err := checkLink(session, label, life); err != nil {
		return "", Link{}, err
	}
	secret = newSecret()
	sum, now := hash(secret), time.Now()
	l := Link{ID: newCredentialID(), Label: label, Created: now, Expires: now.Add(life), Session: session}
	stored := &links.live
	if m != nil {
		stored = &links.moments
		l.At, l.Time = m.At, m.Time
		// Before the link, so that every link to a moment has one. If the link fails, it expires.
		moment := store.Document{Collection: linkMomentCollection, Name: momentName(session, l.ID), Data: m.State, TTL: life + time.Minute}
		if _, err := links.docs.Put(ctx, moment); err != nil {
			return "", Link{}, fmt.Errorf("store the moment of a link: %w", err)
		}
	}
	if err := stored.add(ctx, session, storedLink{l, sum[:]}); err != nil {
		if m != nil {
			_ = links.removeMoment(ctx, session, l.ID)
		}
		return "", Link{}, fmt.Errorf("store link: %w", err)
	}
	return stored.text(session, l.ID, secret), l, nil
}

func checkLink(session wire.SessionID, label string, life time.Duration) error {
	if err := session.Validate(); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	if life < MinLinkLife || life > MaxLinkLife {
		return fmt.Errorf("%w: a link that is valid for %v, want %v to %v", store.ErrInvalid, life, MinLinkLife, MaxLinkLife)
	}
	if label != "" {
		if err := store.CheckName("label of a link", label); err != nil {
			return err
		}
	}
	if n := utf8.RuneCountInString(label); n > MaxLinkLabel || !utf8.ValidString(label) {
		return fmt.Errorf("%w: label of %d characters, want up to %d of UTF-8", store.ErrInvalid, n, MaxLinkLabel)
	}
	if len(label) > MaxLinkLabelBytes {
		return fmt.Errorf("%w: label of %d bytes, want up to %d", store.ErrInvalid, len(label), MaxLinkLabelBytes)
	}
	return nil
}

// momentName returns the name of the document with the moment of a link.
func momentName(session wire.SessionID, id string) string { return string(session) + "_" + id }

// Moment returns the state that a link shows, as [Links.CreateOfMoment] got it. For a link that shows no moment and
// for one that has ended it is [store.ErrNotFound].
func (links *Links) Moment(ctx context.Context, session wire.SessionID, id string) ([]byte, error) {
	d, err := links.docs.Get(ctx, linkMomentCollection, momentName(session, id))
	if err != nil {
		return nil, fmt.Errorf("read the moment of a link: %w", err)
	}
	return d.Data, nil
}

func (links *Links) removeMoment(ctx context.Context, session wire.SessionID, id string) error {
	d, err := links.docs.Get(ctx, linkMomentCollection, momentName(session, id))
	if err == nil {
		err = links.docs.Remove(ctx, d.Collection, d.Name, d.Version)
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return nil // another call removed it
	}
	return err
}

// NewToken returns a token for a link of [Links.Find]. It reads one session and is valid for
// [LinkTokenLife], or until the link ends.
func (links *Links) NewToken(ctx context.Context, l Link) (token string, err error) {
	r, err := newRecord(Identity{User: l.User(), Roles: []Role{RoleViewer}, Session: l.Session, Expires: l.Expires})
	if err != nil {
		return "", err
	}
	r.Key = l.ID
	token = newSecret()
	if err := putRecord(ctx, links.docs, linkTokenCollection, hashName(token), r, min(LinkTokenLife, time.Until(l.Expires))); err != nil {
		return "", fmt.Errorf("store token of a link: %w", err)
	}
	return token, nil
}

// Authenticate authenticates a token of [Links.NewToken]. It is valid only as long as its link.
func (links *Links) Authenticate(ctx context.Context, token string) (Identity, error) {
	if token == "" {
		return Identity{}, errMissing
	}
	if len(token) != secretLength {
		return Identity{}, errRefused
	}
	r, _, err := getRecord(ctx, links.docs, linkTokenCollection, hashName(token))
	if err != nil {
		return Identity{}, err
	}
	if r.expired() {
		return Identity{}, errExpired
	}
	l, err := links.get(ctx, r.Session, r.Key)
	if err != nil {
		return Identity{}, err
	}
	who := r.identity()
	who.Link, who.Moment, who.Cookie = r.Key, l.At, true
	return who, nil
}

// Check refuses the id of a link that is unknown, expired or revoked with an [*Error]. Another error is the
// store's.
func (links *Links) Check(ctx context.Context, session wire.SessionID, id string) error {
	_, err := links.get(ctx, session, id)
	return err
}

func (links *Links) get(ctx context.Context, session wire.SessionID, id string) (Link, error) {
	all, err := links.List(ctx, session)
	if err != nil {
		return Link{}, err
	}
	i := slices.IndexFunc(all, func(l Link) bool { return l.ID == id })
	if i < 0 {
		return Link{}, errRefused
	}
	return all[i], nil
}

// Find returns the valid link with a secret. A link that is unknown, expired or revoked is an [*Error], always
// the same.
func (links *Links) Find(ctx context.Context, secret string) (Link, error) {
	stored := &links.live
	if strings.HasPrefix(secret, momentLinkPrefix) {
		stored = &links.moments
	}
	l, err := stored.find(ctx, secret)
	return l.Link, err
}

// List returns the valid links of a session, the oldest first.
func (links *Links) List(ctx context.Context, session wire.SessionID) ([]Link, error) {
	live, err := links.live.list(ctx, session)
	if err != nil {
		return nil, err
	}
	moments, err := links.moments.list(ctx, session)
	if err != nil {
		return nil, err
	}
	out := make([]Link, 0, len(live)+len(moments))
	for _, l := range slices.Concat(live, moments) {
		out = append(out, l.Link)
	}
	slices.SortStableFunc(out, func(x, y Link) int { return x.Created.Compare(y.Created) })
	return out, nil
}

// Revoke deletes a link and closes the connections that were opened with it, on all replicas. An unknown link
// is [store.ErrNotFound].
func (links *Links) Revoke(ctx context.Context, session wire.SessionID, id string) error {
	revoked, err := links.live.remove(ctx, session, id)
	if errors.Is(err, store.ErrNotFound) {
		revoked, err = links.moments.remove(ctx, session, id)
		if err == nil {
			// Nothing opens its moment any more. If this fails, the moment expires.
			_ = links.removeMoment(context.WithoutCancel(ctx), session, id)
		}
	}
	if err != nil {
		return fmt.Errorf("remove link: %w", err)
	}
	return publishRevocation(ctx, links.docs, Revocation{User: revoked.User(), At: time.Now(), Key: id})
}

// RemoveAll deletes all links of a session that is deleted.
func (links *Links) RemoveAll(ctx context.Context, session wire.SessionID) error {
	moments, err := links.moments.list(ctx, session)
	for _, l := range moments {
		err = errors.Join(err, links.removeMoment(ctx, session, l.ID))
	}
	return errors.Join(err, links.moments.removeAll(ctx, session), links.live.removeAll(ctx, session))
}
