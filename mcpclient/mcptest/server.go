package mcptest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// arg makes a test binary the server.
const arg = "mcptest-server"

// ViewType is the media type of the view.
const ViewType = "text/html;profile=mcp-app"

// Command returns the command line of the server.
func Command() (string, []string) { return os.Args[0], []string{arg} }

// Main runs the server and exits if the process was started with the arguments of [Command]. Further arguments
// are flags:
//
//	chatty       writes lines that are no messages to standard output first
//	fail=TEXT    writes TEXT to standard error and exits with status 3
//	mute         answers nothing
//	child=FILE   starts a child that outlives it, and writes its process id to FILE
//	starts=FILE  appends a line to FILE
//	old          speaks the protocol of 2025
func Main() {
	if len(os.Args) < 2 || os.Args[1] != arg {
		return
	}
	if err := run(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(flags []string) error {
	old := false
	for _, f := range flags {
		name, value, _ := strings.Cut(f, "=")
		switch name {
		case "old":
			old = true
		case "chatty":
			fmt.Fprintln(os.Stdout, "npm notice: a new version is there")
		case "fail":
			fmt.Fprintln(os.Stderr, value)
			os.Exit(3)
		case "mute":
			_, _ = io.Copy(io.Discard, os.Stdin)
		case "child":
			c := exec.Command("sleep", "600") //nolint:noctx // it is to outlive this process
			if err := c.Start(); err != nil {
				return err
			}
			if err := os.WriteFile(value, []byte(strconv.Itoa(c.Process.Pid)), 0o600); err != nil { //nolint:gosec // a file of the test
				return err
			}
		case "starts":
			if err := appendLine(value, strconv.Itoa(os.Getpid())); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(os.Stderr, "server is ready, token "+os.Getenv("TOKEN"))
	if old {
		return newServer(old).Run(context.Background(), oldTransport{&mcp.StdioTransport{}})
	}
	return New().Run(context.Background(), &mcp.StdioTransport{})
}

// oldTransport is a transport without the newest protocol.
type oldTransport struct{ mcp.Transport }

// SupportsProtocolVersion implements [mcp.ProtocolVersionSupporter].
func (oldTransport) SupportsProtocolVersion(version string) bool { return version < "2026" }

func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // a file of the test
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// Handler returns the server as an HTTP handler.
func Handler() http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return New() }, nil)
}

type echoInput struct {
	Text string `json:"text"`
}

type fileInput struct {
	File string `json:"file"`
}

type none struct{}

// New returns the server. Its tools:
//
//	echo     returns its text (read only)
//	env      returns the environment (read only)
//	write    appends a line to a file
//	hang     appends "begun" to a file and waits until it is cancelled, then appends "cancelled"
//	die      appends "begun" to a file and kills the process
//	picture  returns a text, a picture, a link and a resource
//	data     returns structured data only
//	fail     returns an error result
//	ask      asks for a name and returns it
//	grow     adds a tool
//	steps    reports progress, more often than the silence that tests allow
//	view     has the view ui://view, and hidden is for views only; ui://text is a resource that is no view
func New() *mcp.Server { return newServer(false) }

func newServer(old bool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "mcptest", Version: "1"}, nil)
	read := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Title: "Echo", Description: "Return the text.", Annotations: read}, func(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "env", Annotations: read}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return text(strings.Join(os.Environ(), "\n")), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "write"}, func(_ context.Context, _ *mcp.CallToolRequest, in fileInput) (*mcp.CallToolResult, any, error) {
		return text("written"), nil, appendLine(in.File, "written")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "hang"}, func(ctx context.Context, _ *mcp.CallToolRequest, in fileInput) (*mcp.CallToolResult, any, error) {
		if err := appendLine(in.File, "begun"); err != nil {
			return nil, nil, err
		}
		<-ctx.Done()
		return nil, nil, appendLine(in.File, "cancelled")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "die"}, func(_ context.Context, _ *mcp.CallToolRequest, in fileInput) (*mcp.CallToolResult, any, error) {
		if err := appendLine(in.File, "begun"); err != nil {
			return nil, nil, err
		}
		me, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = me.Kill()
		}
		if err != nil {
			return nil, nil, err
		}
		select {}
	})
	addResults(s)
	addRequests(s, old)
	return s
}

func addResults(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "picture"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "a text"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")},
			&mcp.ImageContent{MIMEType: "image/tiff", Data: []byte("II*")},
			&mcp.ResourceLink{URI: "file:///a.txt", Name: "a.txt"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b.txt", Text: "inside"}},
		}}, nil, nil
	})
	s.AddTool(&mcp.Tool{Name: "data", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: map[string]any{"n": 1}}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such thing"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "view", Meta: mcp.Meta{"ui": map[string]any{"resourceUri": "ui://view"}}}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: text("shown").Content, StructuredContent: map[string]any{"n": 1}}, nil, nil
	})
	s.AddResource(&mcp.Resource{URI: "ui://view", Name: "view", MIMEType: ViewType}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "ui://view", MIMEType: ViewType, Text: "<p>a view</p>", Meta: mcp.Meta{"ui": map[string]any{
			"csp": map[string]any{
				"connectDomains":  []string{"https://api.example.com", "wss://live.example.com", "https://127.0.0.1", "https://evil.example.com; script-src *"},
				"resourceDomains": []string{"https://*.cdn.example.com", "http://plain.example.com"},
			},
		}}}}}, nil
	})
	s.AddResource(&mcp.Resource{URI: "ui://text", Name: "text", MIMEType: "text/plain"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "ui://text", MIMEType: "text/plain", Text: "no view"}}}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "hidden", Meta: mcp.Meta{"ui": map[string]any{"visibility": []string{"app"}}}}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return text("for views"), nil, nil
	})
}

func addRequests(s *mcp.Server, old bool) {
	form := &mcp.ElicitParams{Message: "Who are you?", Mode: "form", RequestedSchema: map[string]any{
		"type": "object", "required": []string{"name"}, "properties": map[string]any{
			"name": map[string]any{"type": "string", "title": "Your name"}, "age": map[string]any{"type": "integer"},
			"color": map[string]any{"type": "string", "enum": []string{"red", "blue"}},
		},
	}}
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		a, answered := r.Params.InputResponses["who"].(*mcp.ElicitResult)
		switch {
		case old:
			var err error
			if a, err = r.Session.Elicit(ctx, form); err != nil {
				return nil, nil, err
			}
		case !answered:
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"who": form}}, nil, nil
		}
		return text(fmt.Sprintf("%s %v", a.Action, a.Content)), nil, nil
	})
	addSampling(s, old)
	mcp.AddTool(s, &mcp.Tool{Name: "grow"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		mcp.AddTool(s, &mcp.Tool{Name: "grown"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return text("new"), nil, nil
		})
		return text("grown"), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "steps"}, func(ctx context.Context, r *mcp.CallToolRequest, in stepsInput) (*mcp.CallToolResult, any, error) {
		for i := range in.Count {
			select {
			case <-time.After(time.Duration(in.Millis) * time.Millisecond):
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)})
			if err != nil {
				return nil, nil, err
			}
		}
		return text("done"), nil, nil
	})
}

// addSampling adds a tool that asks the model as often as its input says, and returns the answers.
func addSampling(s *mcp.Server, old bool) {
	//nolint:staticcheck // sampling is deprecated, and servers use it
	question := &mcp.CreateMessageParams{
		SystemPrompt: "Be brief.", MaxTokens: 100,
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "What is 6 times 7?"}}},
	}
	mcp.AddTool(s, &mcp.Tool{Name: "sample"}, func(ctx context.Context, r *mcp.CallToolRequest, in stepsInput) (*mcp.CallToolResult, any, error) {
		if !old {
			a, answered := r.Params.InputResponses["model"].(*mcp.CreateMessageWithToolsResult) //nolint:staticcheck // as above
			if !answered {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"model": question}}, nil, nil
			}
			return text(said(a.Content...) + " by " + a.Model), nil, nil
		}
		answers := []string{}
		for range max(in.Count, 1) {
			a, err := r.Session.CreateMessage(ctx, question) //nolint:staticcheck // as above
			if err != nil {
				return nil, nil, err
			}
			answers = append(answers, said(a.Content)+" by "+a.Model)
		}
		return text(strings.Join(answers, ", ")), nil, nil
	})
}

// said returns the text of an answer.
func said(content ...mcp.Content) string {
	var b strings.Builder
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

type stepsInput struct {
	Count  int `json:"count"`
	Millis int `json:"millis"`
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
