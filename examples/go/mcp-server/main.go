// mcp-server is an MCP server on stdio with tools of its own, and safe.shell of nacre among them.
//
//	nacre serve --profile verify --workspace DIR &   mcp-server
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	nacre "nacre.dev/client"
)

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params struct {
		Name            string          `json:"name"`
		Arguments       json.RawMessage `json:"arguments"`
		ProtocolVersion string          `json:"protocolVersion"`
	} `json:"params"`
}

type server struct{ shell *nacre.Toolbox }

// tools are this server's own, then the one of nacre under the name that this server's models know.
func (s *server) tools() []nacre.Tool {
	own := nacre.Tool{Name: "project.map", Description: "Name the project.", InputSchema: json.RawMessage(`{"type": "object", "properties": {}}`)}
	shell := *s.shell.Find("safe_shell")
	shell.Name = "safe.shell"
	return []nacre.Tool{own, shell}
}

func (s *server) call(ctx context.Context, m message) any {
	switch m.Params.Name {
	case "project.map":
		return map[string]any{"content": []any{map[string]string{"type": "text", "text": "a project"}}}
	case "safe.shell":
		answer, err := s.shell.Call(ctx, "safe_shell", m.Params.Arguments)
		if err != nil {
			return map[string]any{"isError": true, "content": []any{map[string]string{"type": "text", "text": err.Error()}}}
		}
		return answer.Raw
	}
	return map[string]any{"isError": true, "content": []any{map[string]string{"type": "text", "text": "there is no tool " + m.Params.Name}}}
}

func (s *server) answer(ctx context.Context, m message) any {
	switch m.Method {
	case "initialize":
		return map[string]any{"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"tools": struct{}{}},
			"serverInfo": map[string]string{"name": "example", "version": "1"}}
	case "tools/list":
		return map[string]any{"tools": s.tools()}
	case "tools/call":
		return s.call(ctx, m)
	}
	return struct{}{}
}

func main() {
	ctx := context.Background()
	client, err := nacre.New(nacre.Options{})
	if err != nil {
		log.Fatal(err)
	}
	shell, err := client.Toolbox(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer shell.Close(ctx)
	s := &server{shell}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m.ID == nil {
			continue // a notification
		}
		text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": s.answer(ctx, m)})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(text))
	}
}
