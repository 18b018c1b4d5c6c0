package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/everdesk/everdesk/store"
)

const (
	// maxToken is the longest token that is parsed.
	maxToken = 8 << 10
	// leeway is the tolerated difference of clocks.
	leeway = 30 * time.Second
	// maxRoles bounds the roles that are read from a token.
	maxRoles = 64
)

// claims are the claims of a signed token that the hub uses.
type claims struct {
	jwt.RegisteredClaims
	Roles roleNames `json:"roles"`
	Role  roleNames `json:"role"`
}

// roleNames is one name or a list of names.
type roleNames []string

// UnmarshalJSON implements json.Unmarshaler. A value that is neither a name nor a list of names
// means no role: issuers use claims of that name for other purposes.
func (r *roleNames) UnmarshalJSON(data []byte) error {
	var one string
	var several []string
	switch {
	case json.Unmarshal(data, &one) == nil:
		*r = roleNames{one}
	case json.Unmarshal(data, &several) == nil:
		*r = several[:min(len(several), maxRoles)]
	}
	return nil
}

// roles returns the known roles, or RoleUser if there is none.
func (c claims) roles() []Role {
	var roles []Role
	for _, name := range slices.Concat(c.Roles, c.Role) {
		if r := Role(name); r.known() && !slices.Contains(roles, r) {
			roles = append(roles, r)
		}
	}
	if roles == nil {
		roles = []Role{RoleUser}
	}
	return roles
}

// Errors in a token beyond those that the library checks.
var (
	errSubject = errors.New("no usable sub claim")
	errLife    = errors.New("lives for more than a year")
	errCrit    = errors.New("has critical headers")
	errKey     = errors.New("no such key")
)

// identity returns the identity of verified claims.
func (c claims) identity() (Identity, error) {
	if store.CheckName("user", c.Subject) != nil {
		return Identity{}, errSubject
	}
	who := Identity{User: c.Subject, Roles: c.roles(), Expires: c.ExpiresAt.Time}
	switch {
	case c.IssuedAt != nil:
		who.Since = c.IssuedAt.Time
	case c.NotBefore != nil:
		who.Since = c.NotBefore.Time
	}
	// Sign-outs are not stored for longer. The lifetime of a token without a time of issue counts
	// from now.
	begin := who.Since
	if begin.IsZero() {
		begin = time.Now()
	}
	if who.Expires.Sub(begin) > maxLife {
		return Identity{}, errLife
	}
	return who, nil
}

// verifier verifies signed tokens with the keys of a file or of an issuer.
type verifier struct {
	keys    keyring // from a file
	issuer  *issuer // or from an OpenID issuer
	options []jwt.ParserOption
}

func newVerifier(cfg Config) (*verifier, error) {
	v := &verifier{options: []jwt.ParserOption{
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithStrictDecoding(),
	}}
	if cfg.Issuer != "" {
		v.options = append(v.options, jwt.WithIssuer(cfg.Issuer))
	}
	if cfg.Audience != "" {
		v.options = append(v.options, jwt.WithAudience(cfg.Audience))
	}
	var err error
	switch {
	case cfg.OIDC && cfg.KeyFile != "":
		return nil, errors.New("auth jwt takes its keys from a file or from an OpenID issuer, not from both")
	case cfg.OIDC:
		if cfg.Audience == "" {
			return nil, errors.New("auth jwt with an OpenID issuer needs an audience; without one, tokens the issuer made for others would be good here")
		}
		v.issuer, err = newIssuer(cfg.Issuer, cfg.Logger)
		v.options = append(v.options, jwt.WithValidMethods(issuerMethods()))
	case cfg.KeyFile == "":
		return nil, errors.New("auth jwt needs a key file or an OpenID issuer")
	default:
		v.keys, err = readKeys(cfg.KeyFile)
		v.options = append(v.options, jwt.WithValidMethods(v.keys.methods()))
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// verify returns the identity of a token. Its errors are for the log; those that match [ErrIssuer]
// say nothing about the token.
func (v *verifier) verify(ctx context.Context, token string) (Identity, error) {
	if len(token) > maxToken {
		return Identity{}, jwt.ErrTokenMalformed
	}
	var c claims
	var err error
	if v.issuer != nil {
		err = v.verifyRemote(ctx, token, &c)
	} else {
		_, err = jwt.NewParser(v.options...).ParseWithClaims(token, &c, v.keys.find)
	}
	// A token without a subject is invalid, whether it has expired or not.
	if c.Subject == "" && (err == nil || errors.Is(err, jwt.ErrTokenExpired)) {
		return Identity{}, errSubject
	}
	if err != nil {
		return Identity{}, err
	}
	return c.identity()
}

// verifyRemote verifies a token with the issuer's keys. The library that fetches the keys checks
// the signature; all other checks are the same as for keys of a file.
func (v *verifier) verifyRemote(ctx context.Context, token string, c *claims) error {
	parser := jwt.NewParser(v.options...)
	unverified, _, err := parser.ParseUnverified(token, &claims{})
	if err != nil {
		return err
	}
	if !slices.Contains(issuerMethods(), unverified.Method.Alg()) {
		return jwt.ErrTokenSignatureInvalid
	}
	if _, there := unverified.Header["crit"]; there {
		return errCrit
	}
	key, _ := unverified.Header["kid"].(string)
	payload, err := v.issuer.verify(ctx, token, key)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(payload, c); err != nil {
		return jwt.ErrTokenMalformed
	}
	return jwt.NewValidator(v.options...).Validate(c)
}

// refusalFor returns the error for the sender of a token. Only a token that is otherwise valid
// counts as expired.
func refusalFor(err error) error {
	if !errors.Is(err, jwt.ErrTokenExpired) {
		return errRefused
	}
	for _, other := range []error{
		jwt.ErrTokenSignatureInvalid, jwt.ErrTokenUnverifiable, jwt.ErrTokenMalformed, jwt.ErrTokenInvalidAudience,
		jwt.ErrTokenInvalidIssuer, jwt.ErrTokenNotValidYet, jwt.ErrTokenUsedBeforeIssued, jwt.ErrTokenRequiredClaimMissing,
	} {
		if errors.Is(err, other) {
			return errRefused
		}
	}
	return errExpired
}

// logRefusal logs why a token was not accepted, in fixed texts without any part of the token.
func (a *Authority) logRefusal(ctx context.Context, err error) {
	known := []error{
		errSubject, errLife, errCrit, errKey, jwt.ErrTokenExpired, jwt.ErrTokenInvalidAudience,
		jwt.ErrTokenInvalidIssuer, jwt.ErrTokenNotValidYet, jwt.ErrTokenUsedBeforeIssued,
		jwt.ErrTokenRequiredClaimMissing, jwt.ErrTokenSignatureInvalid, jwt.ErrTokenMalformed,
	}
	cause := "unknown"
	for _, k := range known {
		if errors.Is(err, k) {
			cause = k.Error()
			break
		}
	}
	a.log.DebugContext(ctx, "signed token was not accepted", "cause", cause)
}

// keyring are the keys of a file by their key id. A key without one has the id "".
type keyring map[string]verifyKey

// verifyKey is a key with the only algorithm it may be used for.
type verifyKey struct {
	method string
	key    any // []byte, *rsa.PublicKey or ed25519.PublicKey
}

func (k keyring) methods() []string {
	var methods []string
	for _, key := range k {
		if !slices.Contains(methods, key.method) {
			methods = append(methods, key.method)
		}
	}
	return methods
}

// find returns the key for a token with a parsed header. A key id is looked up only in this ring; a
// token without one uses the only key of the ring.
func (k keyring) find(t *jwt.Token) (any, error) {
	if _, there := t.Header["crit"]; there {
		return nil, errCrit
	}
	id, there := t.Header["kid"]
	if !there && len(k) == 1 {
		for _, only := range k {
			return only.keyFor(t)
		}
	}
	name, ok := id.(string)
	key, known := k[name]
	if !ok || !known || name == "" {
		return nil, errKey
	}
	return key.keyFor(t)
}

// keyFor returns the key, unless the token was signed with another algorithm than the key is for,
// such as HS256 with the public key as the secret.
func (k verifyKey) keyFor(t *jwt.Token) (any, error) {
	if t.Method.Alg() != k.method {
		return nil, fmt.Errorf("%w for this algorithm", errKey)
	}
	return k.key, nil
}
