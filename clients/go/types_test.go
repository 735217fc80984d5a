package nacre

import (
	"reflect"
	"strings"
	"testing"
)

type schema struct {
	Type       string            `json:"type"`
	Ref        string            `json:"$ref"`
	AnyOf      []schema          `json:"anyOf"`
	Items      *schema           `json:"items"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
}

// fits says whether a Go type can hold what a schema describes.
func fits(kind reflect.Type, s schema) bool {
	switch {
	case len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null":
		return kind.Kind() == reflect.Pointer && fits(kind.Elem(), s.AnyOf[0])
	case kind.Kind() == reflect.Pointer && len(s.AnyOf) == 0: // it may be missing, and 0 says something
		return fits(kind.Elem(), s)
	case s.Ref != "":
		return kind.Kind() == reflect.Struct && strings.HasSuffix(s.Ref, "/"+kind.Name())
	case s.Type == "array":
		return kind.Kind() == reflect.Slice && fits(kind.Elem(), *s.Items)
	case s.Type == "string":
		return kind.Kind() == reflect.String
	case s.Type == "boolean":
		return kind.Kind() == reflect.Bool
	case s.Type == "integer":
		return kind.Kind() == reflect.Int || kind.Kind() == reflect.Int64
	}
	return false
}

func fields(kind reflect.Type) map[string]reflect.StructField {
	all := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(kind) {
		if tag := field.Tag.Get("json"); tag != "" {
			all[strings.Split(tag, ",")[0]] = field
		}
	}
	return all
}

func TestEveryTypeIsItsSchema(t *testing.T) {
	client, err := New(Options{Address: "unix:" + must("NACRE_TEST_UNIX")})
	okay(t, err)
	var document struct {
		Components struct{ Schemas map[string]schema }
		Paths      map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Schema schema }
			}
		}
	}
	okay(t, client.door.do(patience(t), "GET", "/v1/openapi.json", nil, &document))
	for name, value := range map[string]any{
		"Result": Result{}, "Rule": Rule{}, "Consent": Consent{}, "Left": Left{}, "Held": Held{},
		"Change": Change{}, "Changes": Changes{}, "Conflict": Conflict{}, "Undo": Undo{}, "Processes": Processes{}, "Sandbox": Sandbox{},
		"Room": Room{}, "Network": Network{}, "Unreached": Unreached{}, "Usage": Usage{}, "Task": Task{}, "Order": Order{}, "Output": TaskOutput{}, "Text": Text{}, "Session": Session{},
		"Approval": Approval{}, "Explanation": Explanation{}, "Host": Host{}, "NetworkRule": NetworkRule{}, "Engine": Engine{}, "Command": Command{}, "Shell": Shell{}, "Health": Health{},
		"Piece": Piece{}, "LookFinding": LookFinding{}, "Cover": Cover{}, "Node": Node{}, "Mistake": Mistake{}, "Box": Box{}, "Size": Size{},
	} {
		known := fields(reflect.TypeOf(value))
		properties := document.Components.Schemas[name].Properties
		for member, part := range properties {
			if field, there := known[member]; !there || !fits(field.Type, part) {
				t.Errorf("%s.%s is not what the server gives: %+v", name, member, part)
			}
			delete(known, member)
		}
		for member := range known {
			t.Errorf("%s.%s: the server gives no such member", name, member)
		}
	}
	full := ShellRequest{Command: []string{"x"}, Line: "x", WorkingDir: "x", TimeoutSeconds: 1, Env: map[string]string{"a": "b"}, Stdin: "x", PTY: true,
		Description: "x", Profile: "x", Workspace: "x", Session: "x", OutputMode: "x", Force: true, IdleTimeout: 1e9, ApprovalTimeout: 1e9}
	body := client.body(full)
	body["background"] = true // by Start
	for member := range document.Paths["/v1/run"]["post"].RequestBody.Content["application/json"].Schema.Properties {
		if _, there := body[member]; !there {
			t.Errorf("a request cannot say %s", member)
		}
		delete(body, member)
	}
	equal(t, len(body), 0)
}
