module nacre.dev/client

go 1.19
