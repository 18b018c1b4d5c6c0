package gateway_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/everdesk/everdesk/auth"
)

// mcpToken is a description of an MCP token in a response.
type mcpToken struct{ ID, Token, Name, Profile, Monitor, LastFour, ExpiresAt, LastUsedAt string }

// The user of a session makes, sees and revokes its MCP tokens. Other users cannot, not even admins.
func TestMCPTokens(t *testing.T) {
	t.Parallel()
	revoked := make(chan string, 1)
	h := newTestHub(t, func(p *hubOptions) {
		p.mcp = revokedMCP{mcpHandler: func(http.ResponseWriter, *http.Request) {}, revoked: revoked}
	})
	h.post("/mcp", "", "{}").wantStatus(http.StatusOK) // from now on the hub watches revocations
	ada, id := h.userToken("ada"), h.newSession("ada")
	path := sessionPath(id, "/mcp-tokens")
	var made mcpToken
	h.post(path, ada, `{"name":"Editor","ttl":3600}`).wantStatus(http.StatusCreated).decode(&made)
	if made.Name != "Editor" || made.Profile != "default" || made.Monitor != "monitor-0" || len(made.LastFour) != 4 || made.Token[len(made.Token)-4:] != made.LastFour {
		t.Errorf("got %+v, want the token of Editor with the defaults", made)
	}
	if got, err := h.auth.MCPTokens.Authenticate(t.Context(), made.Token); err != nil || got.Session != id {
		t.Errorf("the token is of %+v with error %v, want session %s", got, err, id)
	}
	var list struct{ Tokens []mcpToken }
	answer := h.get(path, ada).wantStatus(http.StatusOK)
	answer.decode(&list)
	if len(list.Tokens) != 1 || list.Tokens[0].ID != made.ID || list.Tokens[0].LastUsedAt == "" || contains(answer.body, made.Token[len(made.Token)-20:]) {
		t.Errorf("the list is %s, want the used token without its secret", answer.body)
	}
	for name, other := range map[string]string{"stranger": h.userToken("bob"), "admin": h.userToken("eve", "user", "admin")} {
		for _, got := range []reply{h.get(path, other), h.post(path, other, `{"name":"x"}`), h.rest(http.MethodDelete, path+"/"+made.ID, request{token: other})} {
			if got.status != http.StatusNotFound && got.status != http.StatusForbidden {
				t.Errorf("%s: got %d %s, want a refusal", name, got.status, got.body)
			}
		}
	}
	for _, body := range []string{`{}`, `{"name":""}`, `{"name":"x","profile":"root"}`, `{"name":"x","monitor":"a b"}`, `{"name":"x","ttl":-1}`, `{"name":"x","ttl":99999999}`} {
		if got := h.post(path, ada, body); got.status != http.StatusBadRequest && got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d, want a refusal of the body", body, got.status)
		}
	}
	h.rest(http.MethodDelete, path+"/"+made.ID, request{token: ada}).wantStatus(http.StatusNoContent)
	if got := <-revoked; got != made.ID {
		t.Errorf("revoked %q, want %q", got, made.ID)
	}
	h.rest(http.MethodDelete, path+"/"+made.ID, request{token: ada}).wantStatus(http.StatusNotFound)
	for i := range auth.MaxMCPTokens {
		h.post(path, ada, fmt.Sprintf(`{"name":"program %d"}`, i)).wantStatus(http.StatusCreated)
	}
	h.post(path, ada, `{"name":"one more"}`).wantStatus(http.StatusConflict)
}

// revokedMCP is an MCP endpoint that records revoked tokens.
type revokedMCP struct {
	mcpHandler
	revoked chan<- string
}

func (m revokedMCP) Revoke(id string) { m.revoked <- id }
