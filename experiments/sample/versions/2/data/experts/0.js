tracegenExperts({"layer":0,"pass":[3,4,5,6,7,8,9],"token":[0,1,2,3,4,5,6],"by_weight":true,"experts":[[7,2],[6,2],[7,6],[4,6],[4,6],[2,6],[2,7]]});
