tracegenExperts({"layer":1,"pass":[3,4,5,6,7,8,9],"token":[0,1,2,3,4,5,6],"by_weight":true,"experts":[[2,5],[2,6],[2,4],[0,6],[4,0],[4,0],[2,4]]});
