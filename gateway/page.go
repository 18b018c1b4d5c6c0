package gateway

import (
	"cmp"
	_ "embed"
	"errors"
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

//go:embed status.html
var statusHTML string

// pageWords are the texts of the page to sign in.
type pageWords struct {
	lang, title, ready, away, full, leaving        string
	byLink, byToken, badLink, refused, often, hail string
	notForYou                                      string
	token, enter, desktop, health, readiness       string
}

var english = pageWords{
	lang: "en", title: "Sign in · Everdesk", ready: "This hub is ready.", away: wire.CodeStoreUnavailable.Info().Message,
	full:    storeFull,
	leaving: "This hub is shutting down.", byLink: "Sign in with the URL that the hub printed when it started, or with its token.",
	byToken: "Sign in with your token.", badLink: "That link does not sign in. Type the token instead.",
	refused: "That token was not accepted.", often: "Too many attempts. Wait a moment and try again.", hail: "You are signed in as %s.",
	notForYou: "You are signed in as %s, who may not see this page. Another token may.",
	token:     "Token", enter: "Sign in", desktop: "Open the desktop", health: "Health", readiness: "Readiness",
}

var korean = pageWords{ //nolint:gosec // words about tokens
	lang: "ko", title: "로그인 · Everdesk", ready: "허브가 준비되어 있어요.", away: "허브가 저장소에 연결하지 못하고 있어요. 계속 다시 시도하고 있고, 사라지는 것은 없어요.",
	full:    "저장소가 가득 찼어요. 잠시 후에 다시 시도해 주세요.",
	leaving: "허브가 종료되고 있어요.", byLink: "허브를 시작할 때 표시된 주소를 열거나, 토큰을 입력해 로그인해 주세요.",
	byToken: "토큰을 입력해 로그인해 주세요.", badLink: "이 링크로는 로그인할 수 없어요. 토큰을 직접 입력해 주세요.",
	refused: "토큰이 맞지 않아요. 다시 확인해 주세요.", often: "시도가 너무 많았어요. 잠시 후에 다시 시도해 주세요.", hail: "로그인되어 있어요: %s",
	notForYou: "이 계정으로는 이 페이지를 볼 수 없어요: %s. 다른 토큰으로 로그인해 주세요.",
	token:     "토큰", enter: "로그인", desktop: "데스크톱 열기", health: "상태", readiness: "준비 상태",
}

// wordsFor are the texts in the language that a browser likes best.
func wordsFor(r *http.Request) pageWords {
	best, rank := english, 0.0
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		q := 1.0
		if text, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			q, _ = strconv.ParseFloat(text, 64) // what is no number is not liked
		}
		primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
		for _, w := range []pageWords{english, korean} {
			if w.lang == primary && q > rank {
				best, rank = w, q
			}
		}
	}
	return best
}

// page tells people how the hub is, and lets them sign in.
func (s *Server) page(c echo.Context) error { return s.show(c, http.StatusOK, "") }

// show is the page with something to say about an attempt to sign in, or about who did.
func (s *Server) show(c echo.Context, status int, notice string) error {
	words := wordsFor(c.Request())
	state := words.ready
	if p := s.ready(c.Request().Context()); p != nil {
		switch {
		case s.draining.Load():
			state = words.leaving
		case p.Detail == storeFull:
			state = words.full
		default:
			state = words.away
		}
	}
	greeting, tone, hidden, closed := "", "", " hidden", " hidden"
	if id, err := s.identify(c); err == nil {
		greeting = strings.Replace(cmp.Or(notice, words.hail), "%s", id.User, 1)
		if (s.hasDesktop() || s.cfg.DesktopDir != "") && c.Echo() != s.admin.echo {
			closed = ""
		}
		if notice != "" {
			hidden = ""
		}
	} else if _, denied := errors.AsType[*auth.Error](err); denied {
		greeting, hidden = cmp.Or(notice, words.invitation(s.auth.Mode())), ""
	}
	if notice != "" {
		tone = ` class="wrong" role="alert"`
	}
	rest := html.EscapeString(restOfQuery(c))
	action, open := "/login", "/"+rest
	if front := frontOf(c); front != "/" {
		action, open = front, "/"
	}
	// No template: the linker would keep every method in the program, see
	// internal/arch.
	page := strings.NewReplacer(
		"{{lang}}", words.lang, "{{title}}", words.title, "{{state}}", state, "{{greeting}}", html.EscapeString(greeting), "{{tone}}", tone,
		"{{open}}", open, "{{closed}}", closed, "{{desktop}}", words.desktop, "{{action}}", action+rest, "{{hidden}}", hidden,
		"{{token}}", words.token, "{{enter}}", words.enter, "{{health}}", words.health, "{{readiness}}", words.readiness,
		"{{version}}", html.EscapeString(s.cfg.Version),
	)
	c.Response().Header().Add(echo.HeaderVary, "Accept-Language")
	return c.HTML(status, page.Replace(statusHTML))
}

// invitation says how to sign in.
func (w pageWords) invitation(mode auth.Mode) string {
	if mode == auth.ModeToken {
		return w.byLink
	}
	return w.byToken
}

// complaint says why signing in did not work.
func (w pageWords) complaint(p *problemError) string {
	switch {
	case p.Status == http.StatusTooManyRequests:
		return w.often
	case p.Status == http.StatusUnauthorized || w.lang != english.lang:
		return w.refused
	default: // it says more, such as that keys are for programs
		return p.Detail
	}
}
