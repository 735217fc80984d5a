// shell-tool is the shell of an agent: commands in a workspace, by a policy, and a person who is asked.
// The workspace has a directory src, notes.txt and image.png.
//
//	nacre serve --profile workspace --workspace DIR &   shell-tool
package main

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	nacre "nacre.dev/client"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	policy := &nacre.CommandPolicy{} // what the person allowed for this session
	client, err := nacre.New(nacre.Options{Profile: "workspace", Approver: policy.Approver(ask)})
	if err != nil {
		log.Fatal(err)
	}
	for _, request := range []nacre.ShellRequest{
		{Command: []string{"ls", "-la"}, WorkingDir: "src", TimeoutSeconds: 10},
		{Command: []string{"make", "--version"}}, // in no list: asked
		{Command: []string{"make", "--version"}}, // allowed for the session: not asked again
		{Command: []string{"cat", "../../../etc/passwd"}},
		{Command: []string{"sudo", "reboot"}},
		{Command: []string{"curl", "https://example.org"}},                  // asked, and denied
		{Command: []string{"tail", "-f", "notes.txt"}, TimeoutSeconds: 0.5}, // ended with all that it started
		{Command: []string{"cat", "image.png"}},                             // binary output is named, not shown
	} {
		resp, err := client.Run(ctx, request)
		fmt.Printf("$ %s\n", strings.Join(request.Command, " "))
		if refused := nacre.IsRefused(err); refused != nil {
			fmt.Printf("refused (%s): %s\n", refused.Verdict, refused.Reason)
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("exit %d, timed out %v\n%s%s", resp.ExitCode, resp.TimedOut, resp.Stdout, resp.Stderr)
	}
}

// ask stands for a dialog. It says yes to make, for the session.
func ask(_ context.Context, question nacre.Approval) (nacre.Answer, error) {
	fmt.Println("asked:", question.Command)
	if strings.HasPrefix(question.Command, "'make'") {
		return nacre.Answer{Answer: "session"}, nil
	}
	return nacre.Answer{Answer: "deny", Reason: "only make today"}, nil
}
