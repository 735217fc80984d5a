// Package nacre runs commands of AI agents through a policy and a sandbox, by way of `nacre serve`.
//
//	client, err := nacre.New(nacre.Options{})
//	resp, err := client.Run(ctx, nacre.ShellRequest{
//		Command:        []string{"ls", "-la"},
//		WorkingDir:     "src",
//		TimeoutSeconds: 10,
//	})
package nacre
