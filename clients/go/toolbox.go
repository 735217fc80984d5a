package nacre

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

const mcpRevision = "2025-11-25"

// Tool is a tool for a model, as the server describes it from the profiles in force.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// ToolAnswer is what a model is told.
type ToolAnswer struct {
	Text    string
	IsError bool           // the command did not run, or it reached its time limit
	Facts   map[string]any // exit code, verdict, task and so on; see docs/mcp.md, `dev.nacre/run`
	Raw     json.RawMessage
}

// Toolbox is one MCP session: working directory and variables persist from call to call.
type Toolbox struct {
	Tools        []Tool
	Instructions string
	client       *Client
	session      string
	count        int64
}

// Toolbox opens a session. Close it at the end.
func (c *Client) Toolbox(ctx context.Context) (*Toolbox, error) {
	t := &Toolbox{client: c}
	var hello struct{ Instructions string }
	params := map[string]any{"protocolVersion": mcpRevision, "capabilities": struct{}{},
		"clientInfo": map[string]string{"name": "nacre-go", "version": "1"}}
	if err := t.request(ctx, "initialize", params, &hello); err != nil {
		return nil, err
	}
	t.Instructions = hello.Instructions
	if _, err := t.send(ctx, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}); err != nil {
		return nil, err
	}
	var list struct{ Tools []Tool }
	if err := t.request(ctx, "tools/list", struct{}{}, &list); err != nil {
		return nil, err
	}
	t.Tools = list.Tools
	return t, nil
}

// Find is the tool with the name, or nil.
func (t *Toolbox) Find(name string) *Tool {
	for i := range t.Tools {
		if t.Tools[i].Name == name {
			return &t.Tools[i]
		}
	}
	return nil
}

// Call calls a tool with the arguments that a model gave.
func (t *Toolbox) Call(ctx context.Context, name string, arguments any) (*ToolAnswer, error) {
	var raw json.RawMessage
	if err := t.request(ctx, "tools/call", map[string]any{"name": name, "arguments": arguments}, &raw); err != nil {
		return nil, err
	}
	var result struct {
		Content []struct{ Type, Text string }
		IsError bool
		Meta    map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, err
	}
	answer := &ToolAnswer{IsError: result.IsError, Raw: raw}
	texts := []string{}
	for _, item := range result.Content {
		if item.Type == "text" {
			texts = append(texts, item.Text)
		}
	}
	answer.Text = strings.Join(texts, "\n")
	if facts, given := result.Meta["dev.nacre/run"]; given {
		return answer, json.Unmarshal(facts, &answer.Facts)
	}
	return answer, nil
}

// Close ends the session.
func (t *Toolbox) Close(ctx context.Context) error {
	answer, err := t.client.door.open(ctx, "DELETE", "/mcp", nil, http.Header{"Mcp-Session-Id": {t.session}})
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

type mcpMessage struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

func (t *Toolbox) request(ctx context.Context, method string, params, into any) error {
	message, err := t.send(ctx, map[string]any{"jsonrpc": "2.0", "id": atomic.AddInt64(&t.count, 1), "method": method, "params": params})
	if err != nil {
		return err
	}
	if message.Error != nil {
		return &APIError{Status: 200, Kind: "mcp", Message: message.Error.Message}
	}
	if message.Result == nil {
		return errors.New("nacre: the server did not answer a message")
	}
	return json.Unmarshal(message.Result, into)
}

func (t *Toolbox) send(ctx context.Context, body any) (*mcpMessage, error) {
	header := http.Header{"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {mcpRevision}}
	if t.session != "" {
		header.Set("Mcp-Session-Id", t.session)
	}
	answer, err := t.client.door.open(ctx, "POST", "/mcp", body, header)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if id := answer.Header.Get("Mcp-Session-Id"); id != "" && t.session == "" {
		t.session = id
	}
	message := &mcpMessage{}
	if answer.StatusCode == http.StatusAccepted {
		return message, nil
	}
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return message, events(answer.Body, func(_ string, data []byte) error {
			var one mcpMessage
			if err := json.Unmarshal(data, &one); err != nil {
				return err
			}
			if one.Result != nil || one.Error != nil {
				*message = one
			}
			return nil
		})
	}
	if err := json.NewDecoder(answer.Body).Decode(message); err != nil {
		return nil, fmt.Errorf("nacre: the answer: %w", err)
	}
	return message, nil
}
