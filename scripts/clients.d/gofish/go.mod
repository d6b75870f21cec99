module rackless/clients/gofish

go 1.21

require github.com/stmcginnis/gofish v0.22.0
