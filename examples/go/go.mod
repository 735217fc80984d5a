module nacre.dev/examples

go 1.19

require nacre.dev/client v0.0.0

replace nacre.dev/client => ../../clients/go
