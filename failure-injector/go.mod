module cad/failure-injector

go 1.26.0

require golang.org/x/sys v0.49.0

require github.com/go-zookeeper/zk v1.0.4

require github.com/hanwen/go-fuse/v2 v2.12.1
